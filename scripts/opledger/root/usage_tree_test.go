package root_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/commandtest"
)

// goSlice is how Go prints a list: no user reads that.
var goSlice = regexp.MustCompile(`\[[A-Za-z]+ [A-Za-z]+( [A-Za-z]+)*\]`)

// oneLineOf returns the one line of stderr that is no note.
func oneLineOf(s commandtest.Said, t *testing.T, args []string) string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(s.Err) {
		if !strings.HasPrefix(line, "opledger: the ledger is in ") &&
			!strings.HasPrefix(line, "opledger: effects that may be planned: ") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 || s.Out != "" {
		t.Errorf("%q: stderr has more or less than one line of an error: %q; stdout %q", args, s.Err, s.Out)
		return ""
	}
	return lines[0]
}

// TestOneErrorOneLine: whatever is wrong with the input of any command, the error is one line that
// begins with the program's name, once.
func TestOneErrorOneLine(t *testing.T) {
	t.Parallel()
	there := commandtest.NewFile(t)
	there.Register("batches/a")
	settings := []string{"GEMINI_API_KEY=k", "OPLEDGER_WEBHOOK_SECRET=whsec_dGVzdHRlc3R0ZXN0dGVzdHRlc3R0ZXN0"}
	// What each command needs, so that nothing else is wrong with its input.
	needs := map[string][]string{
		"abandon": {"--reason", "r"}, "waive": {"--reason", "r", "--effect", "e"}, "resolve": {"--reason", "r", "--conflict"},
		"intent abandon":     {"--reason", "r"},
		"change":             {"--reason", "r", "--max-batches", "1"},
		"quarantine resolve": {"--reason", "r", "--unresolved"}, "recover": {"--log", "/nowhere/log"},
		"submit batch":       {"--model", "m", "--file", "files/x"},
		"submit video":       {"--model", "m", "--prompt", "p"},
		"submit interaction": {"--model", "m", "--input", "i"},
		"replay":             {"--dead"},
		"webhook deliver":    {"batch.succeeded", "batches/a"},
	}
	for path, command := range commandtest.Leaves() {
		if path == "completion" {
			continue // it reads nothing but its argument
		}
		base := append(strings.Fields(path), needs[path]...)
		bad := [][]string{{"--frobnicate"}, {"-x"}, {"a", "b", "c", "d\n\x1b[2J"}}
		if path == "quarantine retry" {
			bad = bad[:2]
		}
		if command.Flags().Lookup("store") != nil {
			bad = append(bad, []string{"--store", "mysql:x"}, []string{"--store"})
			if path != "local" { // starts emulators
				bad = append(bad, []string{"--store", "firestore"})
			}
		}
		for name, values := range map[string][]string{
			"limit": {"many", "0", "-1", ""}, "state": {"DONE", "RUNING"}, "collection": {"batchs", "job"},
			"after": {"nonsense"}, "timeout": {"soon", "-1s"}, "port": {"70000", "http"}, "since": {"yesterday"},
			"job-kind": {"["}, "metadata": {"[1]", "{"}, "submitted-at": {"now"}, "url": {"http://x", "x"},
			"secret": {"x"}, "webhook-url": {"http://x"}, "correlation-id": {"two words"}, "speed": {"fast", "1"},
			"rerun": {"@"}, "faults": {"some"}, "operations": {"0"}, "max-time": {"0s"}, "log": {"/nowhere/x"},
			"requests": {"/nowhere/x"}, "seed": {"-1"}, "watch": {"perhaps"}, "json": {"perhaps"}, "yes": {"perhaps"},
			"within": {"0s"}, "cancel-after": {"soon", "1s"},
			"to": {"x"}, "at": {"yesterday"}, "id": {"two words"},
		} {
			if command.Flags().Lookup(name) == nil {
				continue
			}
			for _, value := range values {
				anyText := path == "register" && (name == "job-kind" || name == "correlation-id") ||
					strings.HasPrefix(path, "submit") && name == "job-kind"
				if anyText {
					continue
				}
				bad = append(bad, []string{"--" + name + "=" + value})
			}
		}
		for _, more := range bad {
			args := append(append([]string{}, base...), more...)
			if strings.Contains(command.Use, " NAME") && len(more) == 1 {
				args = append(args, "batches/a")
			}
			t.Run(strings.Join(args, " "), func(t *testing.T) {
				t.Parallel()
				s := commandtest.Run(t, append(settings, "OPLEDGER_STORE="+there.Store()), args...)
				line := oneLineOf(s, t, args)
				if s.Code != terminal.ExitFailed && s.Code != terminal.ExitUnread && s.Code != terminal.ExitUsage {
					t.Errorf("exit code %d", s.Code)
				}
				if !strings.HasPrefix(line, "opledger: ") || strings.Contains(line[1:], "opledger: ") ||
					strings.Contains(line, "Usage:") || goSlice.MatchString(line) || strings.Contains(line, "\x1b") {
					t.Errorf("%q", line)
				}
			})
		}
	}
}

// TestEmptyChoosesNothing: a flag that chooses, given an empty value as by a variable of the shell that is
// not set, is refused by every command: it must not choose all, nor another ledger.
func TestEmptyChoosesNothing(t *testing.T) {
	t.Parallel()
	checked := map[string]bool{}
	for path, command := range commandtest.Leaves() {
		if strings.Contains(command.UsageString(), "(default [])") {
			t.Errorf("%s --help shows an empty list as a default", path)
		}
		command.Flags().VisitAll(func(f *pflag.Flag) {
			chooses := strings.Contains(f.Usage, "only ") && f.Value.Type() != "bool" || f.Name == "store"
			if !chooses {
				return
			}
			checked[f.Name] = true
			for _, empty := range []string{"", " "} {
				s := commandtest.Run(t, nil, append(strings.Fields(path), "--"+f.Name, empty)...).Want(t, terminal.ExitUsage)
				want := "--" + f.Name + ": it is empty; write a value, or leave the flag out; see opledger " + path + " --help"
				if got := s.Complaint(t); got != want {
					t.Errorf("%s --%s %q: %s", path, f.Name, empty, got)
				}
			}
		})
	}
	for _, name := range []string{"state", "collection", "job-kind", "kept-for", "reason", "effect", "since", "error"} {
		if !checked[name] {
			t.Errorf("no command has --%s", name)
		}
	}
}

// TestEmptyResolvesNothing: bodies in quarantine are not all resolved because a reason is empty [W6].
func TestEmptyResolvesNothing(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Quarantine.Add(ctx, ledger.Suspect{ID: "msg_1", Reason: "malformed", Body: []byte("{}")})
		return err
	})
	commandtest.Run(t, nil, "quarantine", "resolve", "--unresolved", "--kept-for", "", "--reason", "r", "--yes", "--store",
		f.Store()).Want(t, terminal.ExitUsage)
	commandtest.Run(t, nil, "quarantine", "list", "--unresolved", "--store", f.Store()).Want(t, terminal.ExitDone).
		Says(t, "msg_1")
}
