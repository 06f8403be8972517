package root_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// TestHelp: every command has --help with examples, on stdout, and does nothing.
func TestHelp(t *testing.T) {
	t.Parallel()
	var commands [][]string
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		commands = append(commands, strings.Fields(c.CommandPath())[1:])
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root.New(terminal.Environment{}))
	if len(commands) < 20 {
		t.Errorf("only %d commands", len(commands))
	}
	for _, command := range commands {
		s := commandtest.Run(t, nil, append(command, "--help")...).Want(t, terminal.ExitDone)
		if s.Err != "" || !strings.Contains(s.Out, "Usage:") || !strings.Contains(s.Out, "Examples:\n  ") {
			t.Errorf("%v --help has no examples:\n%s%s", command, s.Out, s.Err)
		}
	}
	if bare := commandtest.Run(t, nil).Want(t, terminal.ExitDone); !strings.Contains(bare.Out, "Examples:") {
		t.Errorf("no arguments: %s", bare.Out)
	}
}

// TestExamplesAreAccepted: every example parses, so that help never shows a refused command line.
func TestExamplesAreAccepted(t *testing.T) {
	t.Parallel()
	examples := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		for line := range strings.Lines(c.Example) {
			_, line, found := strings.Cut(strings.TrimSpace(line), "opledger ")
			if !found {
				t.Errorf("%s: an example without opledger: %q", c.Name(), line)
			}
			line, _, _ = strings.Cut(line, " > ")
			var args []string
			for _, word := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1) {
				args = append(args, strings.Trim(word, "'"))
			}
			target, rest, err := root.New(terminal.Environment{}).Find(args)
			if err == nil {
				err = target.ParseFlags(rest)
			}
			if err == nil {
				err = target.ValidateArgs(target.Flags().Args())
			}
			if err != nil || target.Name() == "opledger" {
				t.Errorf("%q: %v", line, err)
			}
			examples++
		}
	}
	visit(root.New(terminal.Environment{}))
	if examples < 10 {
		t.Errorf("only %d examples", examples)
	}
}

// TestVersionPrinted: --version prints which build it is.
func TestVersionPrinted(t *testing.T) {
	t.Parallel()
	s := commandtest.Run(t, nil, "--version").Want(t, terminal.ExitDone)
	if !regexp.MustCompile(`^opledger \S.*\n$`).MatchString(s.Out) || s.Err != "" {
		t.Errorf("%q %q", s.Out, s.Err)
	}
}
