package repository

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// A rule begins with its number in bold.
	heading = regexp.MustCompile(`(?m)^- \*\*([LKMWRSG]\d+)\*\*`)
	// A citation is one or more numbers in brackets: [M5], [W1, W2], [R1-R3].
	citation = regexp.MustCompile(`\[([LKMWRSG]\d+(?:(?:, ?|-| )[LKMWRSG]\d+)*)\]`)
	number   = regexp.MustCompile(`[LKMWRSG]\d+`)
)

// unproven are the rules that no Go test can prove by itself: they are about the deployment.
var unproven = []string{"G1", "G2", "G3", "G4", "G5", "G6"}

func TestEveryRuleIsProvenAndEveryCitationExists(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "shared", "RULES.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, match := range heading.FindAllStringSubmatch(string(text), -1) {
		rules = append(rules, match[1])
	}
	if len(rules) < 40 {
		t.Fatalf("only %d rules found in RULES.md: has its form changed?", len(rules))
	}
	proven := map[string]bool{}
	for path, content := range goFiles(t) {
		for _, match := range citation.FindAllStringSubmatch(content, -1) {
			for _, cited := range spread(number.FindAllString(match[1], -1), match[1]) {
				if !slices.Contains(rules, cited) {
					t.Errorf("%s cites %s, which RULES.md does not have", path, cited)
				}
				if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "ledgertest") {
					proven[cited] = true
				}
			}
		}
	}
	for _, rule := range rules {
		if !proven[rule] && !slices.Contains(unproven, rule) {
			t.Errorf("no test cites %s", rule)
		}
	}
}

// spread makes M2-M5 into M2, M3, M4, M5.
func spread(cited []string, text string) []string {
	if len(cited) != 2 || !strings.Contains(text, "-") || cited[0][0] != cited[1][0] {
		return cited
	}
	var all []string
	for n := cited[0][1]; n <= cited[1][1]; n++ {
		all = append(all, string([]byte{cited[0][0], n}))
	}
	return all
}
