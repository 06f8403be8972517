package root_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestCompletion: the Tab key proposes what a flag or an argument may be: of a ledger that is a file
// also what is in it.
func TestCompletion(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a", "batches/b")
	variables := []string{"OPLEDGER_STORE=" + f.Store(), "OPLEDGER_EFFECTS=[{name: publish, on: [SUCCEEDED], do: log}]"}
	states := diag.Texts(operation.States())
	for line, want := range map[string][]string{
		"list --state ":                  states,
		"list --state FAILED,":           withPrefix("FAILED,", states),
		"replay --dead --state ":         states,
		"list --collection ":             append(diag.Texts(operation.Collections()), "jobs"),
		"results x --kind ":              {"results", "failed", "unmatched"},
		"submit job --retry-on invalid,": {"invalid,invalid", "invalid,truncated"},
		"submit job --validate ":         {"json", "schema"},
		"usage --by ":                    {"kind", "model"},
		"list --job-kind ":               {"test"},
		"replay --effect ":               {"publish"},
		"show ":                          {"batches/b", "batches/a"},
		"show batches/a ":                nil,
		"replay ":                        {"batches/b", "batches/a"},
		"register ":                      nil,
		"list ":                          nil,
		"local --faults ":                {"none", "normal", "harsh"},
		"completion ":                    root.Shells,
		"show --store sqlite:none ":      nil,
		"show --store firestore ":        nil,
	} {
		s := commandtest.Run(t, variables, append([]string{"__complete"}, strings.Split(line, " ")...)...).Want(t,
			terminal.ExitDone)
		var got []string
		for proposal := range strings.Lines(s.Out) {
			if !strings.HasPrefix(proposal, ":") {
				got = append(got, strings.TrimSpace(proposal))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("opledger %s: %q, want %q", line, got, want)
		}
	}
}

func withPrefix(prefix string, words []string) []string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = prefix + word
	}
	return all
}

// TestCompletionScripts: each shell gets a script of its own, and another shell a usage error.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range root.Shells {
		if s := commandtest.Run(t, nil, "completion", shell).Want(t, terminal.ExitDone); !strings.Contains(s.Out,
			shell+" completion") {
			t.Errorf("%s: %.200q", shell, s.Out)
		}
	}
	commandtest.Run(t, nil, "completion", "zhs").Want(t, terminal.ExitUsage,
		`the shell must be bash, zsh or fish, not "zhs"; did you mean zsh?`)
}
