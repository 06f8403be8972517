package console

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/opledger/opledger/infra/playbooks"
	"github.com/opledger/opledger/scripts/opledger/phrase"
)

// playbookPath is the page of a playbook. It needs no network and no ledger.
const playbookPath = "/console/playbook"

// playbookIndex is the name of the page that lists all.
const playbookIndex = "README"

func loadPlaybook(c *Console, r *request) (any, error) {
	name := r.query.Get(theKey)
	markdown, err := playbooks.Read(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil, bad("key: there is no playbook %q; %s lists them", name, playbookAddress(playbookIndex))
	}
	if err != nil {
		return nil, err
	}
	if where := c.options.Location; where.IsFile() {
		// The commands may be pasted in another folder.
		markdown = playbooks.ForFile(markdown, phrase.ShellWord(where.Absolute().String()))
	}
	return renderMarkdown(markdown)
}

// playbookAddress is the address of a playbook's page; empty where the name is.
func playbookAddress(name string) string {
	if name == "" {
		return ""
	}
	return link(playbookPath, theKey, name)
}

// projectFiles is where the files of the project are read that the console does not have.
const projectFiles = "https://github.com/opledger/opledger/blob/main/"

// playbookLink is where a link of a playbook leads to in the console: to the page of another playbook, and of another
// file of the project to the project's own page.
func playbookLink(to string) string {
	file, _, _ := strings.Cut(to, "#")
	if name, is := strings.CutSuffix(file, ".md"); is && !strings.Contains(name, "/") {
		return playbookAddress(name)
	}
	if file == "" || strings.HasPrefix(file, "/") || strings.Contains(file, ":") {
		return to
	}
	return projectFiles + path.Join("infra/playbooks", to)
}

// renderMarkdown is a playbook as HTML. HTML in it is left out.
func renderMarkdown(markdown []byte) (template.HTML, error) {
	md := goldmark.New(goldmark.WithExtensions(extension.Table))
	document := md.Parser().Parse(text.NewReader(markdown))
	err := ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if to, is := n.(*ast.Link); is && entering {
			to.Destination = []byte(playbookLink(string(to.Destination)))
		}
		return ast.WalkContinue, nil
	})
	var out bytes.Buffer
	if err == nil {
		err = md.Renderer().Render(&out, markdown, document)
	}
	if err != nil {
		return "", fmt.Errorf("rendering the playbook: %w", err)
	}
	return template.HTML(out.String()), nil //nolint:gosec // our own text, without the HTML in it
}
