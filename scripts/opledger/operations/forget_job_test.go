package operations_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// endJob records that the job has ended with results, of which it returns the path.
func endJob(t *testing.T, f commandtest.File) (results string) {
	t.Helper()
	f.Ago(-2*time.Minute, func(ctx context.Context, l *ledger.Ledger) error { // the start was put off
		j, err := l.Jobs.Read(ctx, "jobs/nightly")
		if err != nil {
			return err
		}
		grant, err := l.Effects.Claim(ctx, operation.PartKey(j.Key, 1), job.StepStart)
		if err != nil {
			return err
		}
		j.Phase, j.Output.Results = job.Ended, job.Object{Name: files.Output(j.Job, files.Results), Size: 4}
		results = filepath.Join(f.Path+".jobs", filepath.FromSlash(j.Output.Results.Name))
		return l.Effects.Finish(ctx, grant.Lease, j.Write())
	})
	return results
}

// TestForgetResults: the objects of a job that has not ended stay, and so do those of a storage in which its
// results are not; what was never there is not found [J8].
func TestForgetResults(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables := submitJob(t, f, 4)
	cutJob(f)
	forget := func(job string) commandtest.Said {
		return commandtest.Run(t, variables, "forget", job, "--results", "--yes")
	}
	there := func(path string, want bool) {
		t.Helper()
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", path, err == nil, want)
		}
	}
	put := func(path string) {
		t.Helper()
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("one\n"), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	forget("jobs/never").Want(t, terminal.ExitFailed, "opledger list").Complaint(t)
	forget("jobs/nightly").Want(t, terminal.ExitFailed, "opledger cancel JOB").Complaint(t)
	results := endJob(t, f)
	input := filepath.Join(filepath.Dir(results), "input.jsonl")
	forget("jobs/nightly").Want(t, terminal.ExitFailed, "opledger cancel JOB").Complaint(t) // its record is not settled
	f.Settle("jobs/nightly", operation.Succeeded, operation.Result{})
	forget("jobs/nightly").Want(t, terminal.ExitFailed, "results.jsonl in file://", "without --results").Complaint(t)
	there(input, true)
	put(results)
	forget("jobs/nightly").Want(t, terminal.ExitDone).Says(t, "; 2 objects in file://")
	there(input, false)
	there(results, false)
	commandtest.Run(t, variables, "show", "jobs/nightly").Want(t, terminal.ExitFailed)
	other := filepath.Join(f.Path+".jobs", "other", "0a1b", "input.jsonl")
	put(other)
	forget("jobs/other").Want(t, terminal.ExitFailed, "no results.jsonl").Complaint(t)
	there(other, true)
}
