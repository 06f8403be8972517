package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/test/generated"
)

// everywhere is what the help of every command says alike.
var everywhere = regexp.MustCompile(`(?m)^\s*-h, --help .*\n|` +
	`\n?^Use "opledger .* for more information.*\n|^Flags:\n\s*\z`)

// TestReference: README.md has the help of every command.
func TestReference(t *testing.T) {
	t.Parallel()
	generated.Rest(t, "README.md", reference(t, newRoot(environment{})))
}

// reference returns the help of a command, and of those below it, each under a heading.
func reference(t *testing.T, cmd *cobra.Command) string {
	t.Helper()
	var text strings.Builder
	if cmd.HasParent() {
		help := cli(t, nil, append(strings.Fields(cmd.CommandPath())[1:], "--help")...).want(t, exitDone).out
		help = everywhere.ReplaceAllString(help, "")
		text.WriteString("### " + cmd.CommandPath() + "\n\n```text\n" + strings.TrimSpace(help) + "\n```\n\n")
	}
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			text.WriteString(reference(t, below))
		}
	}
	return text.String()
}
