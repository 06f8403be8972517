package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// MakeDueNow makes a pending operation due, and reports whether it was due later. The next pass
// then looks it up, for a caller that has no time to do so. It changes no state [M7]. An operation
// that is settled or unregistered never becomes due. Errors: ErrNotFound; otherwise as Ingest.
func (l Operations) MakeDueNow(ctx context.Context, key operation.Key) (bool, error) {
	var made time.Time // by a commit whose answer was lost
	sooner := false
	err := l.retry(ctx, "making due "+string(key), func(int) error {
		rec, writes, err := l.dueNow(ctx, key)
		switch {
		case err != nil:
			return err
		case rec.Key == "":
			return ErrNotFound
		case len(writes) == 0:
			sooner = !made.IsZero() && rec.DueAt.Equal(made)
			return nil
		}
		made, sooner = rec.DueAt, true
		return l.commit(ctx, writes...)
	})
	return sooner && err == nil, err
}

// makeDueNow returns the write that makes an operation due now, for a commit about something else.
// There is none for an operation that is due already or waits for nothing, for one whose record is
// ErrNewer, or for the empty key.
func (l *protocol) makeDueNow(ctx context.Context, key operation.Key) ([]Write, error) {
	if key == "" {
		return nil, nil
	}
	_, writes, err := l.dueNow(ctx, key)
	if errors.Is(err, ErrNewer) { // it must not stop the rest of the commit
		return nil, nil
	}
	return writes, err
}

// dueNow returns an operation's record, due now, and the write of it where it was due later.
func (l *protocol) dueNow(ctx context.Context, key operation.Key) (operation.Record, []Write, error) {
	rec, doc, read, err := l.record(ctx, key)
	now := operation.Instant(read.ReadTime)
	if err != nil || !rec.DueAt.After(now) { // the zero time, too: nothing is waited for
		return rec, nil, err
	}
	rec.DueAt = now
	_, write := l.writeRecord(doc, rec, now)
	return rec, []Write{write}, nil
}
