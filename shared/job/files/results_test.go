package files_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
)

// TestCheckStorage: a job's objects are in one storage, and a process that has another one leaves them alone.
func TestCheckStorage(t *testing.T) {
	t.Parallel()
	ours, theirs := folder(t), folder(t)
	j := job.Job{Storage: ours.String()}
	if err := files.CheckStorage(ours, j); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{"another": files.CheckStorage(theirs, j), "none": files.CheckStorage(nil, j)} {
		if !errors.Is(err, files.ErrForeignStorage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCopyForgotten: results are there after the job's record has expired; without results there are no lines,
// and an id that was never used is no job.
func TestCopyForgotten(t *testing.T) {
	t.Parallel()
	s, l := folder(t), newLedger(t)
	j := jobIn(s)
	var out bytes.Buffer
	if _, err := files.Copy(t.Context(), l, s, nightly, files.Results, &out); !errors.Is(err, ledger.ErrNoJob) {
		t.Errorf("a job that never was: %v", err)
	}
	if _, err := files.Copy(t.Context(), l, nil, nightly, files.Results, &out); !errors.Is(err, ledger.ErrNoJob) {
		t.Errorf("without a storage: %v", err)
	}
	if err := files.Keep(t.Context(), s, j); err != nil {
		t.Fatal(err)
	}
	create(t, s, files.Output(j, files.Results), "one\n")
	for _, kind := range []string{files.Results, files.Failed} {
		if complete, err := files.Copy(t.Context(), l, s, nightly, kind, &out); err != nil || !complete {
			t.Errorf("%s: %v, %v", kind, complete, err)
		}
	}
	if out.String() != "one\n" {
		t.Errorf("the lines are %q", out.String())
	}
}

// TestCopyPending: a job that runs has the lines that are final so far, and says that they are not all. A
// process with another storage gives none.
func TestCopyPending(t *testing.T) {
	t.Parallel()
	s, l := folder(t), newLedger(t)
	create(t, s, "nightly/0a1b/input.jsonl", "one\n")
	if _, err := files.Accept(t.Context(), l, s, request()); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	complete, err := files.Copy(t.Context(), l, s, nightly, files.Results, &out)
	if err != nil || complete || out.Len() > 0 {
		t.Errorf("%v, %v, %q", complete, err, out.String())
	}
	_, err = files.Copy(t.Context(), l, folder(t), nightly, files.Results, &out)
	if !errors.Is(err, files.ErrForeignStorage) {
		t.Errorf("another storage: %v", err)
	}
}
