package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/jsonscan"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// Merged is what Copy takes for the results of a job, of those that it redrives, and of all that redrive one of these
// [J14]: each key has one line, that of the last job which has one.
const Merged = "merged"

// Ended reports whether a job, with kind Merged also each of its redrives, has ended: what Copy writes then are all
// lines. Errors: those of the ledger and the storage.
func Ended(ctx context.Context, l *ledger.Ledger, s storage.Storage, key operation.Key, kind string) (bool, error) {
	jobs := []operation.Key{key}
	if kind == Merged {
		var err error
		if jobs, err = redrives(ctx, l, s, key); err != nil {
			return false, err
		}
	}
	for _, key := range jobs {
		j, err := l.Jobs.Read(ctx, key)
		switch {
		case errors.Is(err, ledger.ErrNoJob): // its results may still be there
		case err != nil:
			return false, err
		case j.Phase != job.Ended:
			return false, nil
		}
	}
	return true, nil
}

// copyMerged reports whether all of these jobs have ended. It holds some 40 bytes for each request of a redrive.
func copyMerged(
	ctx context.Context, l *ledger.Ledger, s storage.Storage, key operation.Key, w io.Writer,
) (complete bool, err error) {
	jobs, err := redrives(ctx, l, s, key)
	if err != nil {
		return false, err
	}
	complete = true
	lines := merger{to: w, seen: map[operation.KeyHash]struct{}{}}
	for i, key := range slices.Backward(jobs) {
		lines.first = i == 0
		ended, err := Copy(ctx, l, s, key, Results, &lines)
		if err != nil {
			return false, err
		}
		complete = complete && ended
	}
	return complete, nil
}

// redrives returns the jobs that a job redrives, itself, and all that redrive one of these: each behind the job that
// it redrives.
func redrives(ctx context.Context, l *ledger.Ledger, s storage.Storage, key operation.Key) ([]operation.Key, error) {
	var all []operation.Key
	for of := key; of != "" && !slices.Contains(all, of); {
		all = slices.Insert(all, 0, of)
		j, err := l.Jobs.Read(ctx, of)
		of = j.Redrives
		if errors.Is(err, ledger.ErrNoJob) && s != nil {
			var m manifest
			m, err = stored(ctx, s, all[0])
			of = m.Redrives
		}
		if err != nil && !errors.Is(err, ledger.ErrNoJob) && !errors.Is(err, storage.ErrNotExist) {
			return nil, err
		}
	}
	for i := 0; i < len(all); i++ {
		j, err := l.Jobs.Read(ctx, all[i])
		if err != nil && !errors.Is(err, ledger.ErrNoJob) {
			return nil, err
		}
		for _, by := range j.RedrivenBy {
			if !slices.Contains(all, by.Job) {
				all = append(all, by.Job)
			}
		}
	}
	return all, nil
}

// A merger passes on those lines of results whose key it has not seen.
type merger struct {
	to    io.Writer
	seen  map[operation.KeyHash]struct{}
	part  []byte // of a line whose end is still to come
	first bool   // nothing follows these lines: their keys need not be kept
}

// Write implements io.Writer.
func (m *merger) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			m.part = append(m.part, rest...)
			break
		}
		line := rest[:end]
		if rest = rest[end:]; len(m.part) > 0 {
			line = append(m.part, line...)
			m.part = line[:0]
		}
		if err := m.line(line); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (m *merger) line(line []byte) error {
	// A Line begins with its key.
	value, _ := bytes.CutPrefix(line, []byte(`{"key":`))
	key := operation.HashKey(string(jsonscan.Text(jsonscan.New(value).Value())))
	if _, seen := m.seen[key]; seen {
		return nil
	}
	if !m.first {
		m.seen[key] = struct{}{}
	}
	_, err := m.to.Write(line)
	return err //nolint:wrapcheck // the caller says what was written
}
