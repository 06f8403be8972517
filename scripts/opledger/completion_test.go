package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/operation"
)

// TestCompletion: the Tab key proposes what a flag or an argument may be: of a ledger that is a file
// also what is in it.
func TestCompletion(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a", "batches/b")
	variables := []string{"OPLEDGER_STORE=" + f.store(), "OPLEDGER_EFFECTS=[{name: publish, on: [SUCCEEDED], do: log}]"}
	states := texts(operation.States())
	for line, want := range map[string][]string{
		"list --state ":             states,
		"list --state FAILED,":      withPrefix("FAILED,", states),
		"replay --dead --state ":    states,
		"list --collection ":        texts(operation.Collections()),
		"list --job-kind ":          {"test"},
		"replay --effect ":          {"publish"},
		"show ":                     {"batches/b", "batches/a"},
		"show batches/a ":           nil,
		"replay ":                   {"batches/b", "batches/a"},
		"register ":                 nil,
		"list ":                     nil,
		"local --faults ":           {"none", "normal", "harsh"},
		"completion ":               shells,
		"show --store sqlite:none ": nil,
		"show --store firestore ":   nil,
	} {
		s := cli(t, variables, append([]string{"__complete"}, strings.Split(line, " ")...)...).want(t, exitDone)
		var got []string
		for proposal := range strings.Lines(s.out) {
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
	for _, shell := range shells {
		if s := cli(t, nil, "completion", shell).want(t, exitDone); !strings.Contains(s.out, shell+" completion") {
			t.Errorf("%s: %.200q", shell, s.out)
		}
	}
	cli(t, nil, "completion", "zhs").want(t, exitUsage,
		`the shell must be bash, zsh or fish, not "zhs"; did you mean zsh?`)
}
