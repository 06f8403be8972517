package examples

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/opledger/opledger/test/documents"
)

var command = regexp.MustCompile(`(?m)^\$ (.*)$`)

// TestReadmes: the commands in the READMEs are those that the other tests run.
func TestReadmes(t *testing.T) {
	t.Parallel()
	const serve = "go run ./scripts/opledger serve --simulate --forward-to http://127.0.0.1:9000/completions"
	var all []string
	for language, want := range map[string][]string{
		"python": {serve, "python3 receiver.py", "python3 submit.py --stdlib batch files/reviews first"},
		"typescript": {
			serve, "npm ci && npm run receiver", "npm run submit batch files/reviews first",
		},
		"go": {
			"export INVOICES=invoices.db OPLEDGER_EFFECTS='[{name: invoice, on: [SUCCEEDED], do: custom}]'",
			"go run -overlay scripts/examples/go/invoice/overlay.json ./scripts/opledger serve --simulate",
			"go run ./scripts/examples/go/submit batch files/reviews first",
		},
	} {
		text, err := os.ReadFile(root + "/scripts/examples/" + language + "/README.md")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, found := range command.FindAllStringSubmatch(string(text), -1) {
			got = append(got, found[1])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the README says to run %q; the tests run %q", language, got, want)
		}
		all = append(all, want...)
	}
	for _, block := range documents.For(t, root, "TestReadmes") {
		for _, command := range block.Commands {
			if !slices.Contains(all, command.Text) {
				t.Errorf("%s:%d: the tests do not run %q", block.Document, block.Line, command.Text)
			}
		}
	}
}
