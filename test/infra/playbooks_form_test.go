package infra_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// settingsOf is the one line of a playbook that is not for every deployment as it stands. Notifications
// have it with the names of theirs.
const settingsOf = `eval "$(opledger environment --project=PROJECT --region=REGION --prefix=PREFIX)"` + "\n"

// mayWait is what the index of playbooks says of alerts of a severity.
var mayWait = map[string]string{"CRITICAL": "no", "ERROR": "until morning", "WARNING": "yes"}

// severities are those of the alerts, by the name of their playbook.
func severities(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"webhook-unreachable": "CRITICAL"} // which Terraform alone makes
	for _, s := range readTable[[]signal](t, "signals.json") {
		if s.Alert != nil {
			all[strings.TrimSuffix(s.Alert.Playbook, ".md")] = s.Alert.Severity
		}
	}
	for _, m := range readTable[[]measure](t, "platform.json") {
		if m.Alert != nil {
			all[strings.TrimSuffix(m.Alert.Playbook, ".md")] = m.Alert.Severity
		}
	}
	return all
}

// TestPlaybooksHaveOneForm: each playbook about an alert has the same sections in the same order, begins
// with the settings of the deployment, says whether it may wait until morning, as its severity and the
// index do, and fits on a page. Its commands need gcloud and the program, and no source tree.
func TestPlaybooksHaveOneForm(t *testing.T) {
	t.Parallel()
	placeholder := regexp.MustCompile(`\b(PROJECT|REGION|PREFIX)\b`)
	severity := severities(t)
	index, err := os.ReadFile(filepath.Join(root, "infra", "playbooks", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	exported := regexp.MustCompile(`\$\{?[A-Z_]+\}?|roles/|--[a-z-]+=PREFIX`)
	for name, p := range readPlaybooks(t) {
		var headings []string
		for _, heading := range section.FindAllStringSubmatch(p.text, -1) {
			headings = append(headings, heading[1])
		}
		if !slices.Equal(headings, sections) || !strings.HasPrefix(p.text, "# ") {
			t.Errorf("%s has the sections %q, want %q", name, headings, sections)
		}
		if p.begins != settingsOf {
			t.Errorf("%s begins with %q, want %q", name, p.begins, settingsOf)
		}
		_, impact, _ := strings.Cut(p.text, "## Impact\n")
		want := "It may wait until morning"
		if severity[name] == "CRITICAL" {
			want = "It may not wait until morning"
		}
		if !strings.HasPrefix(impact, want) {
			t.Errorf("%s, whose alert is %s, does not begin its impact with %q", name, severity[name], want)
		}
		row := fmt.Sprintf(" | %s | [%s](%[2]s.md) |\n", mayWait[severity[name]], name)
		if !strings.Contains(string(index), row) {
			t.Errorf("the index of playbooks has no row that ends in %q", row)
		}
		for _, heading := range []string{"How many, and which error", "One first", "Over"} {
			if len(p.blocks[heading]) == 0 {
				t.Errorf("%s has no command below %q", name, heading)
			}
		}
		if n := strings.Count(p.text, "\n"); n > 62 || len(p.text) > 6000 {
			t.Errorf("%s has %d lines and %d bytes: more than one reads at night", name, n, len(p.text))
		}
		rest := strings.Replace(p.text, settingsOf, "", 1)
		if found := placeholder.FindString(exported.ReplaceAllString(rest, "")); found != "" {
			t.Errorf("%s has the placeholder %s behind its first block: use the exported variable", name, found)
		}
		for _, tree := range []string{"go run", "terraform", "scripts/"} {
			if strings.Contains(p.text, tree) {
				t.Errorf("%s needs a source tree: %s", name, tree)
			}
		}
	}
}

// TestPlaybooksLinkPlaybooks: each link of a playbook is to a playbook that is there.
func TestPlaybooksLinkPlaybooks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)]+)\)`)
	for _, name := range playbookFiles(t) {
		text, err := os.ReadFile(filepath.Join(root, "infra", "playbooks", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(playbookFiles(t), found[1]) {
				t.Errorf("%s links to %s, which is no playbook", name, found[1])
			}
		}
	}
}

// TestGcloudKnowsTheCommands: the real gcloud parses every kind of its commands in the playbooks; outside of the gate
// one of each group of commands, such as gcloud run.
func TestGcloudKnowsTheCommands(t *testing.T) {
	t.Parallel()
	gcloud := harness.Program(t, "gcloud", "whether the commands of the playbooks are gcloud's is not tested")
	type line struct {
		Command string `json:"command_string"`
		ID      string `json:"id"`
	}
	var lines []line
	groups, seen, values := map[string]int{}, map[string]bool{}, regexp.MustCompile(`'[^']*'|"[^"]*"|=\S*`)
	command := regexp.MustCompile(`(?m)\bgcloud [^|\n]*`)
	playbooks := readPlaybooks(t)
	for _, name := range slices.Sorted(maps.Keys(playbooks)) { // so that each run takes the same of a group
		p := playbooks[name]
		text := strings.ReplaceAll(strings.Join(slices.Concat(p.blocks["How many, and which error"], p.blocks["One first"],
			p.blocks["Fix"], p.blocks["Over"]), ""), "\\\n", "")
		for _, found := range command.FindAllString(text, -1) {
			found = regexp.MustCompile(`\$\([^)]*\)`).ReplaceAllString(found, "2026-11-21T00:00:00Z") // of date
			found = strings.NewReplacer(`'$PREFIX'`, "opledger", "$", "").Replace(strings.TrimSuffix(found, `)"`))
			words := strings.Fields(values.ReplaceAllString(found, ""))
			if groups[words[1]]++; groups[words[1]] > 1 && !harness.Thorough(t) {
				continue
			}
			kind := strings.Join(words, " ")
			if !seen[kind] { // parsing takes a tenth of a second
				seen[kind] = true
				lines = append(lines, line{strings.TrimSpace(found), name + ": " + found})
			}
		}
	}
	if len(lines) < 25 && harness.Thorough(t) || len(groups) < 7 {
		t.Fatalf("only %d commands of gcloud are found: has the form of playbooks changed?", len(lines))
	}
	file := filepath.Join(t.TempDir(), "commands.json")
	content, err := json.Marshal(lines)
	if err == nil {
		err = os.WriteFile(file, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	parse := exec.CommandContext(t.Context(), gcloud, "meta", "lint-gcloud-commands", "--commands-file="+file)
	parse.Env = append(os.Environ(), "CLOUDSDK_CONFIG="+t.TempDir(), "CLOUDSDK_CORE_DISABLE_PROMPTS=1")
	out, err := parse.Output()
	if err != nil {
		t.Fatal(err)
	}
	var parsed []struct {
		Command string `json:"command_string"`
		Error   string `json:"error_message"`
		Success bool   `json:"success"`
	}
	if err := json.Unmarshal(out, &parsed); err != nil {
		t.Fatal(err)
	}
	for _, p := range parsed {
		if !p.Success {
			t.Errorf("%s: %s", p.Command, p.Error)
		}
	}
	if len(parsed) != len(lines) {
		t.Errorf("gcloud parsed %d commands, want %d", len(parsed), len(lines))
	}
}
