// Package commandtest runs whole command lines of opledger in the process of a test, and has what the tests of
// several rooms of commands need: a ledger in a file, a simulated Gemini, serve and its console.
package commandtest

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/googleapis/gax-go/v2"
	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
)

// Leaves returns the commands that do something, with the words of their command lines.
func Leaves() map[string]*cobra.Command {
	found := map[string]*cobra.Command{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if !c.HasSubCommands() {
			_, path, _ := strings.Cut(c.CommandPath(), " ")
			found[path] = c
		}
	}
	visit(root.New(terminal.Environment{}))
	return found
}

// Answer runs a command line with an answer on stdin.
func Answer(t *testing.T, variables []string, in string, args ...string) Said {
	t.Helper()
	var out, err bytes.Buffer
	code := root.Run(t.Context(), args, terminal.Environment{Variables: variables, In: strings.NewReader(in), Out: &out,
		Err: &err, Wait: sooner})
	return Said{code, out.String(), err.String()}
}

// sooner waits between two attempts for a tenth of what a command waits, because nothing here is as far away.
func sooner(ctx context.Context, how time.Duration) error { return gax.Sleep(ctx, how/10) }

// OnScreen runs a command line on a terminal of so many columns. wait is called where it pauses.
func OnScreen(
	t *testing.T, columns int, wait func(context.Context, time.Duration) error, args ...string,
) Said {
	t.Helper()
	var out, err bytes.Buffer
	code := root.Run(t.Context(), args, terminal.Environment{
		In: strings.NewReader(""), Out: &out, Err: &err, Columns: columns, Wait: wait,
	})
	return Said{code, out.String(), err.String()}
}

// Says checks stdout.
func (s Said) Says(t *testing.T, words ...string) Said {
	t.Helper()
	for _, one := range words {
		if !strings.Contains(s.Out, one) {
			t.Errorf("stdout does not say %q: %s", one, s.Out)
		}
	}
	return s
}

// Said is the outcome of a command.
type Said struct {
	Code     int
	Out, Err string
}

// Run runs a command line in this process, with exactly these variables.
func Run(t *testing.T, variables []string, args ...string) Said {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out, err bytes.Buffer
	code := root.Run(ctx, args, terminal.Environment{Variables: variables, In: strings.NewReader(""), Out: &out,
		Err: &err, Wait: sooner})
	return Said{code, out.String(), err.String()}
}

// Want checks the exit code, and that stderr contains each of these.
func (s Said) Want(t *testing.T, code int, onStderr ...string) Said {
	t.Helper()
	if s.Code != code {
		t.Errorf("exit code %d, want %d\n%s%s", s.Code, code, s.Out, s.Err)
	}
	for _, words := range onStderr {
		if !strings.Contains(s.Err, words) {
			t.Errorf("stderr does not say %q: %s", words, s.Err)
		}
	}
	return s
}

// Complaint returns the command's error: the last line of stderr, or several lines below one that
// counts them; with --json the last line's message.
func (s Said) Complaint(t *testing.T) string {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(s.Err, "\n"), "\n")
	var last struct{ Error terminal.ErrorJSON }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err == nil && last.Error.Message != "" {
		if last.Error.Code != s.Code {
			t.Errorf("exit code %d, and the error says %d", s.Code, last.Error.Code)
		}
		return last.Error.Message
	}
	match := regexp.MustCompile(`(?:^|\n)opledger: (.+(?:, and nothing was done:(?:\n  .+){2,})?)\n$`).FindStringSubmatch(
		s.Err)
	begins := strings.Count("\n"+s.Err, "\nopledger: ") - strings.Count(s.Err,
		"opledger: the ledger is in ") - strings.Count(s.Err, "opledger: effects that may be planned: ")
	if match == nil || begins != 1 {
		t.Fatalf("stderr does not end with the lines of one error: %q", s.Err)
	}
	return match[1]
}
