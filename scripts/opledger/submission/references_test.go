package submission_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// TestReferencesGone: a job whose requests name a file that Gemini does not have sends nothing and waits, which wait
// and status say. Once resumed it ends with those requests refused, and the others done [J15].
func TestReferencesGone(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	served := commandtest.Serving(t, nil, "--simulate", "--faults", "none", "--speed", "1000", "--store", f.Store())
	defer served.Stop()
	run := func(args ...string) commandtest.Said {
		return commandtest.Run(t, []string{"OPLEDGER_STORE=" + f.Store()}, args...)
	}
	named := `{"key":"named","request":{"contents":[{"parts":[{"fileData":{"fileUri":"files/never"}}]}]}}` + "\n"
	run(jobArgs(inputFile(t, "reviews.jsonl", lines(3)+named))...).Want(t, terminal.ExitDone)
	const held = "1 of 4 requests name files or caches that Gemini does not have any more, such as files/never"
	for attempt := range 60 {
		if s := run("wait", "jobs/nightly", "--timeout", "1s"); strings.Contains(s.Err+s.Out, held) {
			break
		} else if attempt == 59 {
			t.Fatalf("it is not held: %s%s", s.Out, s.Err)
		}
	}
	run("list").Want(t, terminal.ExitDone).Says(t, "PENDING (held: references)")
	run("status").Want(t, terminal.ExitFailed,
		"the job jobs/nightly goes no further: files or caches that its requests name are gone")
	run("show", "jobs/nightly").Want(t, terminal.ExitDone).Says(t, "done 0", held,
		"without the requests of what is missing")
	run("resume", "jobs/nightly", "--reason", "the others").Want(t, terminal.ExitDone)
	run("wait", "jobs/nightly", "--timeout", "1m").Want(t, terminal.ExitDone).Says(t, "done 3 · refused 1 · open 0")
	out := run("results", "jobs/nightly", "--kind", "failed").Want(t, terminal.ExitDone).Out
	if !strings.Contains(out, `"outcome":"refused"`) || strings.Count(out, "\n") != 1 ||
		!strings.Contains(out, "it names files/never, which Gemini does not have any more") {
		t.Errorf("%s", out)
	}
}
