package files_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
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
	for _, kind := range []string{files.Results, files.Failed} {
		_, err := files.Copy(t.Context(), l, s, nightly, kind, &out)
		if !errors.Is(err, files.ErrMissing) || errors.Is(err, ledger.ErrNoJob) {
			t.Errorf("%s without results: %v", kind, err)
		}
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
	broken := folder(t)
	create(t, broken, "nightly/job.json", "no JSON")
	if _, err := files.Copy(t.Context(), l, broken, nightly, files.Results, &out); err == nil ||
		errors.Is(err, ledger.ErrNoJob) {
		t.Errorf("where the storage cannot be read: %v", err)
	}
}

// TestCopyMissing: an object that the plan or a part names and that is not there is an error, and not the
// same as no lines. Where the job has ended meanwhile its results are in place of its parts'.
func TestCopyMissing(t *testing.T) {
	t.Parallel()
	s, l := folder(t), newLedger(t)
	create(t, s, "nightly/0a1b/input.jsonl", "one\n")
	if _, err := files.Accept(t.Context(), l, s, request()); err != nil {
		t.Fatal(err)
	}
	grant, err := l.Effects.Claim(t.Context(), nightly, job.StepSplit)
	if err != nil {
		t.Fatal(err)
	}
	j, err := l.Jobs.Read(t.Context(), nightly)
	if err == nil {
		j, err = l.Jobs.Cut(t.Context(), grant.Lease, j, []job.Source{
			{Object: j.Input.Object, Length: 4, Requests: 1},
		}, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := l.Jobs.Part(t.Context(), operation.PartKey(nightly, 1))
	if err == nil {
		p.State, p.Final = job.Collected, []job.Object{{Name: "nightly/final.jsonl", Size: 4}}
		_, err = l.Jobs.Save(t.Context(), grant.Lease, p)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	copied := func(s storage.Storage) (bool, error) {
		return files.Copy(t.Context(), l, s, nightly, files.Results, &out)
	}
	if complete, err := copied(s); !errors.Is(err, files.ErrMissing) || complete {
		t.Errorf("of a part: %v, %v", complete, err)
	}
	j.Phase, j.Output.Results = job.Ended, job.Object{Name: files.Output(j.Job, files.Results), Size: 4}
	ends := ending{Storage: s, end: func() error {
		create(t, s, j.Output.Results.Name, "one\n")
		return l.Effects.Finish(t.Context(), grant.Lease, j.Write())
	}}
	if complete, err := copied(ends); err != nil || !complete || out.String() != "one\n" {
		t.Errorf("of a job that ends meanwhile: %v, %v, %q", complete, err, out.String())
	}
	if err := s.Delete(t.Context(), j.Output.Results.Name); err != nil {
		t.Fatal(err)
	}
	if _, err := copied(s); !errors.Is(err, files.ErrMissing) {
		t.Errorf("of a job that has ended: %v", err)
	}
	if complete, err := files.Copy(t.Context(), l, s, nightly, files.Failed, &out); err != nil || !complete {
		t.Errorf("of a kind without lines: %v, %v", complete, err)
	}
}

// An ending is a storage during whose read of a part's object the job ends.
type ending struct {
	storage.Storage
	end func() error
}

// Read implements storage.Storage.
func (e ending) Read(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	if name == "nightly/final.jsonl" {
		if err := e.end(); err != nil {
			return nil, err
		}
	}
	return e.Storage.Read(ctx, name, offset, length)
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
