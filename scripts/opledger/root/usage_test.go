package root_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// TestUsageTexts: wrong use is one line in our own words, with the valid choices and the help to
// read.
func TestUsageTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"lst"}, `there is no command "lst"; did you mean list? See opledger --help`},
		{[]string{"frobnicate"}, `there is no command "frobnicate"; see opledger --help`},
		{[]string{"submit", "bach"}, `there is no command "bach"; did you mean batch? See opledger submit --help`},
		{[]string{"webhook", "rotat", "x"}, `there is no command "rotat"; did you mean rotate? See opledger webhook --help`},
		{[]string{"list", "--pendin"}, `there is no flag --pendin; did you mean --pending? See opledger list --help`},
		{[]string{"--frobnicate"}, `there is no flag --frobnicate; see opledger --help`},
		{[]string{"list", "-x"}, `there is no flag -x; see opledger list --help`},
		{[]string{"list", "--limit", "many"}, `--limit: it must be a whole number, not "many"; see opledger list --help`},
		{[]string{"local", "--speed", "fast"}, `--speed: it must be a number, not "fast"; see opledger local --help`},
		{[]string{
			"local", "--seed", "-1",
		}, `--seed: it must be a whole number that is not below zero, not "-1"; see opledger local --help`},
		{[]string{
			"list", "--pending=perhaps",
		}, `--pending: it must be true or false, not "perhaps"; see opledger list --help`},
		{[]string{"list", "--limit"}, `--limit: it needs a value, a whole number; see opledger list --help`},
		{[]string{"list", "--store"}, `--store: it needs a value, a text; see opledger list --help`},
		{[]string{"list", "--dead", "--pending"},
			`--pending and --dead cannot be used together; choose one; see opledger list --help`},
		{[]string{
			"list", "batches/a",
		}, `wrong arguments: "batches/a"; write opledger list [flags]; see opledger list --help`},
		{[]string{"show"}, `an argument is missing; write opledger show NAME [flags]; see opledger show --help`},
		{[]string{
			"show", "a\x1b[2J", "b",
		}, `wrong arguments: "a\x1b[2J" "b"; write opledger show NAME [flags]; see opledger show --help`},
		{[]string{"register", "batch/zzz"}, `name: "batch/zzz" is not in a known collection; did you mean batches/zzz?`},
	} {
		s := commandtest.Run(t, nil, c.args...).Want(t, terminal.ExitUsage)
		if got := s.Complaint(t); got != c.want || s.Out != "" {
			t.Errorf("%v: %s, want %s; on stdout %q", c.args, got, c.want, s.Out)
		}
	}
}

// TestManyProblems: one problem of the command line or the settings is one line; several are one
// line each, below their number.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	s := commandtest.Run(t, []string{"OPLEDGER_GRACE=soon", "OPLEDGER_MAX_ATTEMPTS=0", "OPLEDGER_RETENTON=1h",
		"OPLEDGER_STORE=mysql:x"}, "register", "batches/a")
	want := "opledger: 4 problems, and nothing was done:\n" +
		"  OPLEDGER_GRACE: \"soon\" is not a duration; write 90s, 5m or 6h\n" +
		"  OPLEDGER_MAX_ATTEMPTS: it must be at least 1\n" +
		"  OPLEDGER_STORE: it must be firestore, firestore:DATABASE or sqlite:PATH, not \"mysql:x\"\n" +
		"  OPLEDGER_RETENTON: there is no such setting; did you mean OPLEDGER_RETENTION?\n"
	if s.Want(t, terminal.ExitUsage); s.Err != want {
		t.Errorf("%s, want %s", s.Err, want)
	}
	s = commandtest.Run(t, nil, "register", "abc", "--metadata", "[1]")
	if s.Want(t, terminal.ExitUsage, "name: ", "\n  metadata: "); !strings.HasPrefix(s.Err,
		"opledger: 2 problems, and nothing was done:\n  name: ") {
		t.Error(s.Err)
	}
}

// TestWrongUse: exit code 2, nothing on stdout, and one line on stderr that says what to do.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	there := commandtest.NewFile(t)
	there.Register("batches/a")
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"frobnicate"}, []string{"frobnicate", "--help"}},
		{[]string{"--frobnicate"}, []string{"--frobnicate", "--help"}},
		{[]string{"local", "--operations", "many"}, []string{"--operations", "local --help"}},
		{[]string{"local", "--max-time", "0s"}, []string{"--max-time", "longer than zero"}},
		{[]string{"local", "--max-time", "long"}, []string{"--max-time", "90s"}},
		{[]string{"local", "--operations", "0"}, []string{"--operations", "from 1 to 20000"}},
		{[]string{"local", "--jobs", "21", "--requests", "0"},
			[]string{"--jobs: it must be from 0 to 20", "--requests: it must be from 1 to 1000000"}},
		{[]string{"local", "extra"}, []string{"local --help"}},
		{[]string{"local", "--speed", "0", "--faults", "some", "--operations", "-1"},
			[]string{"--speed: it must be from 20 to 1000", "--faults: it must be none, normal or harsh", "--operations"}},
		{[]string{"local", "--store", "mysql:x"}, []string{"--store", "sqlite:PATH"}},
		{[]string{"local", "--store", "sqlite:"}, []string{"--store", "sqlite:PATH"}},
		{[]string{"list", "--state", "DONE"}, []string{"--state", "SUCCEEDED"}},
		{[]string{"list", "--state", "FALED"}, []string{"did you mean FAILED?"}},
		{[]string{"list", "--collection", "batchs"}, []string{"did you mean batches?"}},
		{[]string{"list", "--collection", "job"}, []string{"--collection", "batches"}},
		{[]string{"list", "--limit", "0"}, []string{"--limit", "at least 1"}},
		{[]string{"list", "--after", "nonsense"}, []string{"--after"}},
		{[]string{"list", "--after", "e30"}, []string{"--after"}}, // {}: well-formed, and nowhere
		{[]string{"list", "--store", "postgres://x"}, []string{"--store", "firestore, firestore:DATABASE or sqlite:PATH"}},
		{[]string{"list", "--store", "firestore"}, []string{"GOOGLE_CLOUD_PROJECT"}},
		{[]string{"show"}, []string{"show --help"}},
		{[]string{"show", "a", "b"}, []string{"show --help"}},
		{[]string{"show", " "}, []string{"name"}},
		{[]string{"register"}, []string{"register --help"}},
		{[]string{"register", "abc123"}, []string{"batches/abc123"}},
		{[]string{"register", "batches/a", "--metadata", "[1]", "--job-kind", strings.Repeat("k", 300)},
			[]string{"metadata", "jobKind"}},
		{[]string{"register", "batches/a", "--submitted-at", "yesterday"},
			[]string{"--submitted-at", "2026-11-21T02:00:00Z"}},
		{[]string{"reconcile", "a", "b"}, []string{"reconcile --help"}},
		{[]string{"list", "--dead", "--pending"}, []string{"dead", "pending"}},
		{[]string{"abandon", "batches/a"}, []string{"--reason"}},
		{[]string{"abandon", "batches/a", "--reason", " "}, []string{"--reason"}},
		{[]string{"abandon", "--reason", "x"}, []string{"abandon --help"}},
		{[]string{"forget"}, []string{"forget --help"}},
		{[]string{"forget", " "}, []string{"name"}},
		{[]string{"quarantine", "show"}, []string{"quarantine show --help"}},
		{[]string{"quarantine", "retry"}, []string{"quarantine retry --help"}},
		{[]string{"quarantine", "list", "--limit", "0"}, []string{"--limit"}},
		{[]string{"quarantine", "list", "--after", "x"}, []string{"--after"}},
		{[]string{"submit", "poem"}, []string{"poem"}},
		{[]string{"submit", "batch", "--file", "files/x"}, []string{"--model"}},
		{[]string{"submit", "batch", "--model", "m"}, []string{"--file", "--requests"}},
		{[]string{"submit", "batch", "--model", "m", "--file", "files/x", "--requests", "y"},
			[]string{"--file", "--requests"}},
		{[]string{"submit", "batch", "--model", "m", "--requests", "/nowhere/requests.jsonl"},
			[]string{"--requests", "/nowhere/requests.jsonl"}},
		{[]string{"submit", "video", "--model", "veo"}, []string{"--prompt"}},
		{[]string{"submit", "interaction", "--input", "x"}, []string{"--model"}},
		{[]string{"submit", "video", "--model", "veo", "--prompt", "p", "--metadata", "[1]", "--correlation-id", "two words",
			"--webhook-url", "http://x"},
			[]string{"metadata: ", "--correlation-id", "--webhook-url"}},
		{[]string{"serve", "--port", "70000"}, []string{"--port", "65535"}},
		{[]string{"serve", "now"}, []string{"serve --help"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			s := commandtest.Run(t, []string{"OPLEDGER_STORE=" + there.Store()}, c.args...).Want(t, terminal.ExitUsage,
				c.says...)
			if s.Out != "" {
				t.Errorf("stdout: %q", s.Out)
			}
			s.Complaint(t)
		})
	}
}
