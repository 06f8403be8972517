package files

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// ErrForeignStorage: the job's objects are in another storage than this process has.
var ErrForeignStorage = errors.New("the job's objects are in another job storage")

// CheckStorage returns ErrForeignStorage, with both names, unless s is the job's storage.
func CheckStorage(s storage.Storage, j job.Job) error {
	switch {
	case s == nil:
		return fmt.Errorf("%w: they are in %s, and this process has none", ErrForeignStorage, j.Storage)
	case s.String() != j.Storage:
		return fmt.Errorf("%w: they are in %s, and this process has %s", ErrForeignStorage, j.Storage, s)
	}
	return nil
}

// Copy writes lines of a job to w: those of results.jsonl, or with kind Failed or Unmatched of those. Before
// the job has ended, these are the lines that are final so far. It reports whether they are all. After the
// job's record has expired it finds the results in s.
//
// Errors: ledger.ErrNoJob; ErrForeignStorage; else of the ledger, the storage or w.
func Copy(
	ctx context.Context, l *ledger.Ledger, s storage.Storage, key operation.Key, kind string, w io.Writer,
) (complete bool, err error) {
	j, err := l.Jobs.Read(ctx, key)
	if errors.Is(err, ledger.ErrNoJob) && s != nil {
		m, missing := stored(ctx, s, key)
		if missing != nil {
			return false, errors.Join(err, missing)
		}
		return true, copyObject(ctx, s, Output(job.Job{Key: key, Input: m.Input}, kind), w)
	}
	if err != nil {
		return false, err
	}
	if err := CheckStorage(s, j.Job); err != nil {
		return false, err
	}
	if j.Phase == job.Ended {
		return true, copyObject(ctx, s, Output(j.Job, kind), w)
	}
	for after := (ledger.Cursor{}); ; {
		page, err := l.Jobs.Parts(ctx, key, after, 100)
		if err == nil && len(page.Broken) > 0 {
			err = page.Broken[0]
		}
		if err != nil {
			return false, err
		}
		for _, p := range page.Items {
			if err := copyPart(ctx, s, p.Part, kind, w); err != nil {
				return false, err
			}
		}
		if after = page.Next; after == (ledger.Cursor{}) {
			return false, nil
		}
	}
}

// copyPart writes what is final of a part.
func copyPart(ctx context.Context, s storage.Storage, p job.Part, kind string, w io.Writer) error {
	if p.State != job.Collected && p.State != job.Consumed && p.State != job.Dropped {
		return nil // what a collect has stored so far counts once it is complete
	}
	for _, object := range Objects(p, kind) {
		if err := copyObject(ctx, s, object.Name, w); err != nil {
			return err
		}
	}
	return nil
}

// Objects returns those objects of a part whose lines are of a kind.
func Objects(p job.Part, kind string) []job.Object {
	switch kind {
	case Failed:
		return p.Failed
	case Unmatched:
		return p.Unmatched
	default:
		return p.Final
	}
}

// copyObject writes an object. One that is not there has no lines: a job leaves none without any.
func copyObject(ctx context.Context, s storage.Storage, name string, w io.Writer) error {
	content, err := s.Read(ctx, name, 0, -1)
	if errors.Is(err, storage.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	defer content.Close() //nolint:errcheck // it was only read
	if _, err := io.Copy(w, content); err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return nil
}
