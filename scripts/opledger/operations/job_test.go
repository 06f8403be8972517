package operations_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// submitJob submits a job of so many requests, two in a batch, and returns the variables of its ledger.
func submitJob(t *testing.T, f commandtest.File, requests int) (variables []string) {
	t.Helper()
	var text strings.Builder
	for i := range requests {
		fmt.Fprintf(&text, `{"key":"review-%d","request":{"contents":[{"role":"user","parts":[{"text":"Good?"}]}]}}`+"\n", i)
	}
	input := filepath.Join(t.TempDir(), "reviews.jsonl")
	if err := os.WriteFile(input, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	variables = []string{"OPLEDGER_STORE=" + f.Store()}
	commandtest.Run(t, variables, "submit", "job", input, "--id", "nightly", "--model", "gemini-3.5-flash",
		"--max-requests-per-batch", "2", "--job-kind", "reviews").Want(t, terminal.ExitDone).Says(t, "; accepted\n")
	return variables
}

// cutJob performs the split of a job of four requests: no serve runs, and a command without an API key leaves the steps
// of jobs to one.
func cutJob(f commandtest.File) { cutJobNaming(f, job.References{}) }

// cutJobNaming cuts the job into two parts whose requests name these.
func cutJobNaming(f commandtest.File, references job.References) {
	f.T.Helper()
	f.Ago(0, func(ctx context.Context, l *ledger.Ledger) error {
		grant, err := l.Effects.Claim(ctx, "jobs/nightly", job.StepSplit)
		if err != nil {
			return err
		}
		j, err := l.Jobs.Read(ctx, "jobs/nightly")
		if err != nil {
			return err
		}
		j.References = references
		half := job.Source{Object: j.Input.Object, Length: j.Input.Bytes / 2, Requests: 2}
		rest := half
		rest.Offset, rest.Length = half.Length, j.Input.Bytes-half.Length
		if _, err = l.Jobs.Cut(ctx, grant.Lease, j, []job.Source{half, rest}, true); err != nil {
			return err
		}
		if err = l.Effects.Finish(ctx, grant.Lease); err == nil {
			_, err = l.Jobs.Advance(ctx, "jobs/nightly")
		}
		return err
	})
}

// TestJobFromEndToEnd: a job runs on a serve with a simulated Gemini; its commands wait for it, show it, print
// its results, add up its tokens and forget it [J7, J8].
func TestJobFromEndToEnd(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	prices := []string{"OPLEDGER_PRICES=gemini-3.5-flash=1000/5000"} // the commands take them from the ledger
	served := commandtest.Serving(t, prices, "--simulate", "--faults", "none", "--speed", "1000", "--store", f.Store())
	defer served.Stop()
	variables := submitJob(t, f, 5)
	const line = "batches 3 of 3, round 1 of 3 · done 5 · open 0 · "
	commandtest.Run(t, variables, "wait", "jobs/nightly", "--timeout", "1m").Want(t, terminal.ExitDone).Says(t,
		"jobs/nightly  SUCCEEDED", "\n"+line)
	var waited struct {
		State operation.State
		Job   progress.Progress
	}
	commandtest.OneObject(t, commandtest.Run(t, variables, "wait", "nightly", "--json").Want(t, terminal.ExitDone).Out,
		&waited)
	if waited.State != operation.Succeeded || waited.Job.Counts.Done != 5 {
		t.Errorf("%+v", waited)
	}
	s := commandtest.Run(t, variables, "results", "jobs/nightly").Want(t, terminal.ExitDone)
	keys := map[string]bool{}
	for text := range strings.Lines(s.Out) {
		var item struct{ Key, Outcome string }
		if err := json.Unmarshal([]byte(text), &item); err != nil || item.Outcome != "done" {
			t.Errorf("%v: %s", err, text)
		}
		keys[item.Key] = true
	}
	if len(keys) != 5 || strings.Count(s.Out, "\n") != 5 {
		t.Errorf("%d keys: %s", len(keys), s.Out)
	}
	s = commandtest.Run(t, variables, "results", "jobs/nightly", "--kind", "failed").Want(t, terminal.ExitDone)
	if s.Out != "" {
		t.Errorf("failed: %q", s.Out)
	}
	commandtest.Run(t, variables, "show", "jobs/nightly").Want(t, terminal.ExitDone).Says(t, "  model ",
		"SUCCEEDED · "+line, " · about $", "\n  cost ", ", estimated by the tokens", "\n00003 ", "  results ",
		"/results.jsonl, ")
	batches := commandtest.Run(t, variables, "list", "--collection", "batches").Want(t, terminal.ExitDone)
	batches.Says(t, "BATCH OF", "jobs/nightly/00001", "jobs/nightly/00003")
	batch := strings.Fields(strings.Split(batches.Out, "\n")[1])[0]
	commandtest.Run(t, variables, "show", batch).Want(t, terminal.ExitDone).Says(t, "  batch of ", "jobs/nightly/0000")
	if jobs := commandtest.Run(t, variables, "list", "--collection", "jobs"); strings.Contains(jobs.Out, "BATCH OF") {
		t.Errorf("none of these is a batch: %s", jobs.Out)
	}
	commandtest.Run(t, variables, "show", "jobs/nightly/00003").Want(t, terminal.ExitDone).Says(t, "CONSUMED",
		"  requests ", "job-start", "opledger show batches/")
	commandtest.Run(t, variables, "usage").Want(t, terminal.ExitDone).Says(t,
		"reviews  gemini-3.5-flash  1     5  ", "  $")
	commandtest.Run(t, variables, "cancel", "jobs/nightly", "--reason", "r").Want(t, terminal.ExitFailed,
		"its batches have all ended").Complaint(t)
	forgetJob(t, f, variables)
}

// TestReconcileJob: the look-up of a job takes its next steps, and asks Gemini nothing.
func TestReconcileJob(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a") // so that there is a ledger
	variables := append(submitJob(t, f, 5), "GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1")
	commandtest.Run(t, variables, "reconcile", "jobs/nightly").Want(t, terminal.ExitDone).Says(t,
		"jobs/nightly is PENDING: ", " taken\n")
}

// forgetJob forgets a job that has ended, then its objects.
func forgetJob(t *testing.T, f commandtest.File, variables []string) {
	t.Helper()
	commandtest.Answer(t, variables, "n\n", "forget", "jobs/nightly").Want(t, terminal.ExitFailed, "nothing was deleted")
	commandtest.Run(t, variables, "forget", "jobs/nightly", "--yes").Want(t, terminal.ExitDone).Says(t,
		"jobs/nightly forgotten: ")
	commandtest.Run(t, variables, "show", "jobs/nightly").Want(t, terminal.ExitFailed, "opledger list").Complaint(t)
	if s := commandtest.Run(t, variables, "results", "jobs/nightly").Want(t, terminal.ExitDone); strings.Count(s.Out,
		"\n") != 5 {
		t.Errorf("the results of a forgotten job: %q", s.Out)
	}
	commandtest.Run(t, variables, "forget", "jobs/nightly", "--results", "--yes").Want(t, terminal.ExitDone).Says(t,
		"0 documents deleted; ", "objects in file://")
	commandtest.Run(t, variables, "results", "jobs/nightly").Want(t, terminal.ExitFailed, "there is no jobs/nightly").
		Complaint(t)
	left := filepath.Join(f.Path+".jobs", "nightly")
	err := filepath.WalkDir(left, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// startPart records that a part has a batch.
func startPart(t *testing.T, f commandtest.File, number int) {
	t.Helper()
	changePart(t, f, number, func(p *job.Part) { p.State, p.Batch = job.Started, "batches/a" })
}

// changePart records what the start of a part has done.
func changePart(t *testing.T, f commandtest.File, number int, change func(*job.Part)) {
	t.Helper()
	f.Ago(-2*time.Minute, func(ctx context.Context, l *ledger.Ledger) error { // its start was put off
		p, _, err := l.Jobs.Part(ctx, operation.PartKey("jobs/nightly", number))
		if err != nil {
			return err
		}
		grant, err := l.Effects.Claim(ctx, p.Key, job.StepStart)
		if err != nil {
			return err
		}
		change(&p.Part)
		_, err = l.Jobs.Save(ctx, grant.Lease, p)
		return err
	})
}
