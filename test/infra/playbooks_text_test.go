package infra_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sections are the headings of every playbook about an alert, in this order.
var sections = []string{"Impact", "How many, and which error", "One first", "Fix", "Over", "Notify"}

// procedure is the playbook that no alert leads to. It has a form of its own.
const procedure = "restored.md"

// A playbook is one of infra/playbooks.
type playbook struct {
	name   string // of the file, without .md
	text   string
	begins string              // the block in front of the first section
	blocks map[string][]string // of commands, by section
}

var (
	fenced  = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	section = regexp.MustCompile(`(?m)^## (.*)$`)
)

// readPlaybooks returns those about alerts, by name.
func readPlaybooks(t *testing.T) map[string]playbook {
	t.Helper()
	all := map[string]playbook{}
	for _, name := range playbookFiles(t) {
		if name == procedure {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, "infra", "playbooks", name))
		if err != nil {
			t.Fatal(err)
		}
		p := playbook{name: strings.TrimSuffix(name, ".md"), text: string(text), blocks: map[string][]string{}}
		parts := section.Split(p.text, -1)
		for _, block := range fenced.FindAllStringSubmatch(parts[0], -1) {
			p.begins += block[1]
		}
		for i, heading := range section.FindAllStringSubmatch(p.text, -1) {
			for _, block := range fenced.FindAllStringSubmatch(parts[i+1], -1) {
				p.blocks[heading[1]] = append(p.blocks[heading[1]], block[1])
			}
		}
		all[p.name] = p
	}
	return all
}

// playbookFiles are the files of all playbooks; README.md is their index.
func playbookFiles(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "infra", "playbooks", "*.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no playbooks: %v", err)
	}
	for _, file := range files {
		if name := filepath.Base(file); name != "README.md" {
			names = append(names, name)
		}
	}
	return names
}
