// Package playbooks holds the playbooks beside it, so that a program shows them where there is no checkout and no
// network.
package playbooks

import (
	"embed"
	"fmt"
)

//go:embed *.md
var files embed.FS

// Read returns the Markdown of a playbook by its name, such as effects-dead; that of the index is README.
func Read(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ".md")
	if err != nil {
		return nil, fmt.Errorf("reading the playbook %q: %w", name, err)
	}
	return text, nil
}
