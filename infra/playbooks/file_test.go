package playbooks_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/opledger/opledger/infra/playbooks"
)

// TestForFile: for a ledger in a file each playbook begins by naming it, and has no command of Google Cloud; what is
// left is a script that a shell reads, and uses each variable that it sets.
func TestForFile(t *testing.T) {
	t.Parallel()
	blocks := regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```\n")
	exported := regexp.MustCompile(`(?m)^ *(?:\$ )?export (\w+)=`)
	var script strings.Builder
	files, err := filepath.Glob("*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".md")
		whole, err := playbooks.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(playbooks.ForFile(whole, "sqlite:'my ledger.db'"))
		all := blocks.FindAllStringSubmatch(text, -1)
		const begins = "export OPLEDGER_STORE=sqlite:'my ledger.db'\n"
		if name != "README" && (len(all) == 0 || !strings.HasPrefix(all[0][1], begins)) {
			t.Errorf("%s does not begin with the ledger:\n%s", name, text)
		}
		if name == "README" && !strings.Contains(text, "```console\n$ "+begins+"$ opledger status\n") {
			t.Errorf("a block of prompts has none before the ledger:\n%s", text)
		}
		if needs := strings.Contains(text, "\n# opledger webhook needs the variables of serve"); needs !=
			strings.Contains(text, "\nopledger webhook ") {
			t.Errorf("%s says %v that commands need the variables of serve:\n%s", name, needs, text)
		}
		for _, variable := range exported.FindAllStringSubmatch(text, -1) {
			if variable[1] != "OPLEDGER_STORE" && !strings.Contains(text, `$`+variable[1]) {
				t.Errorf("%s sets %s for nothing:\n%s", name, variable[1], text)
			}
		}
		for _, block := range all {
			script.WriteString(block[1])
			if strings.Contains(block[1], "gcloud") {
				t.Errorf("%s: %s", name, block[1])
			}
		}
	}
	if out, err := exec.CommandContext(t.Context(), "bash", "-n", "-c", script.String()).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
