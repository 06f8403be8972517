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

var (
	// ErrForeignStorage: the job's objects are in another storage than this process has.
	ErrForeignStorage = errors.New("the job's objects are in another job storage")
	// ErrMissing: an object that a commit names is not in job storage.
	ErrMissing = errors.New("job storage is missing, or its objects were moved or deleted")
)

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

// Copy writes lines of a job to w: those of results.jsonl, or with kind Failed, Unmatched or Merged of those. Before
// the job has ended, these are the lines that are final so far. It reports whether they are all. After the
// job's record has expired it finds the results in s.
//
// Errors: ledger.ErrNoJob; ErrForeignStorage; ErrMissing; else of the ledger, the storage or w.
func Copy(
	ctx context.Context, l *ledger.Ledger, s storage.Storage, key operation.Key, kind string, w io.Writer,
) (complete bool, err error) {
	if kind == Merged {
		return copyMerged(ctx, l, s, key, w)
	}
	j, err := l.Jobs.Read(ctx, key)
	if errors.Is(err, ledger.ErrNoJob) && s != nil {
		return copyForgotten(ctx, s, key, kind, w, err)
	}
	if err != nil {
		return false, err
	}
	if err := CheckStorage(s, j.Job); err != nil {
		return false, err
	}
	if j.Phase == job.Ended {
		return true, copyOutput(ctx, s, j.Job, kind, w)
	}
	to := &counted{to: w}
	err = EachPart(ctx, l.Jobs.Parts, key, func(p ledger.StoredPart) error { return copyPart(ctx, s, p.Part, kind, to) })
	if !errors.Is(err, ErrMissing) {
		return false, err
	}
	// The job may have ended meanwhile, which deletes what only its parts name.
	again, readErr := l.Jobs.Read(ctx, key)
	switch {
	case readErr != nil:
		return false, errors.Join(err, readErr)
	case again.Phase != job.Ended:
		return false, err
	case to.wrote:
		return false, fmt.Errorf("%s ended while its results were read; read them again: %w", key, err)
	}
	return true, copyOutput(ctx, s, again.Job, kind, w)
}

// A counted writer knows whether anything was written.
type counted struct {
	to    io.Writer
	wrote bool
}

// Write implements io.Writer.
func (c *counted) Write(p []byte) (int, error) {
	c.wrote = true
	return c.to.Write(p) //nolint:wrapcheck // the caller says what was written
}

// copyForgotten writes the results of a job that the ledger has no record of. Without a manifest the error is
// noJob, too.
func copyForgotten(
	ctx context.Context, s storage.Storage, key operation.Key, kind string, w io.Writer, noJob error,
) (complete bool, err error) {
	m, err := stored(ctx, s, key)
	if errors.Is(err, storage.ErrNotExist) {
		return false, errors.Join(noJob, err)
	}
	if err != nil {
		return false, err
	}
	j := job.Job{Key: key, Input: m.Input}
	err = copyObject(ctx, s, Output(j, kind), w)
	if kind != Results && errors.Is(err, ErrMissing) { // it has no lines, if the job has ended
		err = copyObject(ctx, s, Output(j, Results), io.Discard)
	}
	return err == nil, err
}

// copyOutput writes the lines of a kind that a job has left. Without a name it has none.
func copyOutput(ctx context.Context, s storage.Storage, j job.Job, kind string, w io.Writer) error {
	name := j.Output.Results.Name
	switch kind {
	case Failed:
		name = j.Output.Failed.Name
	case Unmatched:
		name = j.Output.Unmatched.Name
	}
	if name == "" {
		return nil
	}
	return copyObject(ctx, s, name, w)
}

// A partLister lists parts of a job, page by page.
type partLister func(context.Context, operation.Key, ledger.Cursor, int) (ledger.Page[ledger.StoredPart], error)

// EachPart calls do for each part that list has of a job, until one fails. A part that cannot be read is an error: what
// is asked of all of them must not be decided without it.
func EachPart(ctx context.Context, list partLister, key operation.Key, do func(ledger.StoredPart) error) error {
	for after := (ledger.Cursor{}); ; {
		page, err := list(ctx, key, after, 100)
		if err == nil && len(page.Broken) > 0 {
			err = page.Broken[0]
		}
		if err != nil {
			return err
		}
		for _, p := range page.Items {
			if err := do(p); err != nil {
				return err
			}
		}
		if after = page.Next; after == (ledger.Cursor{}) {
			return nil
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

// copyObject writes an object. The error wraps ErrMissing where there is none.
func copyObject(ctx context.Context, s storage.Storage, name string, w io.Writer) error {
	content, err := s.Read(ctx, name, 0, -1)
	if errors.Is(err, storage.ErrNotExist) {
		return fmt.Errorf("%w: there is no %s in %s", ErrMissing, name, s)
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
