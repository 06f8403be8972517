package serve_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// submitJob submits a job of three requests with the command, in the shell of a serve, and waits for its end.
func submitJob(s commandtest.Served, id string) {
	s.T.Helper()
	input := filepath.Join(s.T.TempDir(), "reviews.jsonl")
	var lines strings.Builder
	for _, key := range []string{"a", "b", "c"} {
		lines.WriteString(`{"key":"` + key + `","request":{"contents":[{"parts":[{"text":"Classify it."}]}]}}` + "\n")
	}
	if err := os.WriteFile(input, []byte(lines.String()), 0o600); err != nil {
		s.T.Fatal(err)
	}
	commandtest.Run(s.T, environ(s), "submit", "job", input, "--id", id, "--model", "gemini-3.5-flash",
		"--max-attempts", "2").Want(s.T, terminal.ExitDone)
	commandtest.Run(s.T, environ(s), "wait", "jobs/"+id).Want(s.T, terminal.ExitDone)
}

// wantResults checks how many lines of a job's results have these words. The ledger is in this file.
func wantResults(t *testing.T, ledger, id, words string) {
	t.Helper()
	results, err := filepath.Glob(ledger + ".jobs/" + id + "/*/results.jsonl")
	if err != nil || len(results) != 1 {
		t.Fatalf("results of %s: %q, %v", id, results, err)
	}
	text, err := os.ReadFile(results[0])
	if err != nil || strings.Count(string(text), "\n") != 3 || strings.Count(string(text), words) != 3 {
		t.Errorf("%s, want %s in each of three: %s, %v", id, words, text, err)
	}
}

// TestSimulateJob: a job that the command submits runs to its end, and its results are in a folder beside the
// ledger that was named.
func TestSimulateJob(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	s := simulate(t, []string{"OPLEDGER_JOB_STORAGE=gs://real/jobs"}, "--store", f.Store())
	submitJob(s, "nightly")
	if log := s.Stop(); !strings.Contains(log, "--simulate leaves out") || !strings.Contains(log, "OPLEDGER_JOB_STORAGE") {
		t.Errorf("it does not say that it leaves out the bucket: %s", log)
	}
	wantResults(t, f.Path, "nightly", `"outcome":"done"`)
}

// TestSimulateFault: a fault is forced for the batches of one job, and the others meet those of all.
func TestSimulateFault(t *testing.T) {
	t.Parallel()
	s := simulate(t, nil, "--fault", "jobs/rehearsal:expired=1", "--fault", "truncated=1")
	ledger := strings.TrimPrefix(variable(s, "OPLEDGER_STORE"), "sqlite:")
	for id, words := range map[string]string{
		"rehearsal": `"why":"the batch is EXPIRED`, "other": `"outcome":"truncated"`,
	} {
		submitJob(s, id)
		wantResults(t, ledger, id, words)
	}
	s.Stop()
}

// TestSimulateFaultRefused: each thing that is wrong with a fault is said before anything begins.
func TestSimulateFaultRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ fault, want string }{
		{"expire=1", "these are: failed, cancelled, expired"},
		{"expired", "write expired=0.1"},
		{"expired=2", "a share from 0 to 1"},
		{"batches/a:expired=1", "there must be a job, such as jobs/nightly"},
		{"jobs/a b:expired=1", "there must be a job, such as jobs/nightly"},
	} {
		s := commandtest.Run(t, nil, "serve", "--simulate", "--fault", tc.fault).Want(t, terminal.ExitUsage)
		if got := s.Complaint(t); !strings.HasPrefix(got, "--fault: ") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s", tc.fault, got)
		}
	}
	s := commandtest.Run(t, nil, "serve", "--fault", "expired=1").Want(t, terminal.ExitUsage)
	if got := s.Complaint(t); !strings.Contains(got, "it is for --simulate") {
		t.Error(got)
	}
}
