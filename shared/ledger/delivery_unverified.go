package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Unverified says what a delivery is about that cannot be believed without asking Gemini.
type Unverified struct {
	// Name is the operation that an event of the same name and correlation id would change [K6], and the name to ask the API
	// with [K5].
	Name operation.Name
	// Record is the operation's; the zero Record where there is none.
	Record operation.Record
	// Disputed is the operation that its submitter registered with the correlation id, where the
	// name is another operation's; as in Receipt.
	Disputed operation.Key
	// Waiting: an intent waits under the correlation id, and nobody registered the operation [G6].
	Waiting bool
	// Duplicate: this very delivery was taken in before [W4].
	Duplicate bool
}

// ReadUnverified reads what the ledger knows of a delivery's operation, as Ingest would find it, and writes nothing. The error is the
// store's; the same call may succeed later.
func (l *Ledger) ReadUnverified(ctx context.Context, name operation.Name, correlationID, deliveryID string) (Unverified, error) {
	paths := []Path{OperationPath(name.Key), deliveryPath(name.Key, operation.Webhook, deliveryID)}
	if correlationID != "" {
		paths = append(paths, intentPath(correlationID))
	}
	snapshot, err := l.store.Get(ctx, paths...)
	if err != nil {
		return Unverified{}, fmt.Errorf("finding what a hint at %s means: %w", name.Key, err)
	}
	rec, err := readRecord(snapshot.Documents[0])
	if err != nil {
		return Unverified{}, err
	}
	hinted := Unverified{Name: name, Record: rec}
	if !rec.Registered && correlationID != "" {
		intent, err := readIntent(snapshot.Documents[2])
		if err != nil {
			return Unverified{}, err
		}
		if key := intent.elsewhere(name.Key); key != "" {
			return l.ReadUnverified(ctx, operation.Name{Key: key, Resource: string(key)}, "", deliveryID)
		}
		hinted.Disputed, hinted.Waiting = intent.disputed(name.Key), intent.Waiting()
	}
	if rec.Name != "" {
		hinted.Name.Resource = rec.Name
	}
	hinted.Duplicate, _, err = deduplicate(snapshot.Documents[1], rec)
	return hinted, err
}

// MakeDueNow makes a pending operation due now, and reports whether it was due later: reconciliation then asks Gemini about it at
// its next pass, rather than a caller that has no time to. It changes no state [M7]. There is nothing to hasten of an
// operation that is settled or that nobody registered. Errors: ErrNotFound; otherwise as Ingest.
func (l *Ledger) MakeDueNow(ctx context.Context, key operation.Key) (bool, error) {
	var hastened time.Time // by a commit whose answer was lost
	sooner := false
	err := l.decide(ctx, "hastening "+string(key), func(int) error {
		rec, writes, err := l.dueNow(ctx, key)
		switch {
		case err != nil:
			return err
		case rec.Key == "":
			return ErrNotFound
		case len(writes) == 0:
			sooner = !hastened.IsZero() && rec.DueAt.Equal(hastened)
			return nil
		}
		hastened, sooner = rec.DueAt, true
		return l.store.Commit(ctx, writes...)
	})
	return sooner && err == nil, err
}

// makeDueNow returns the write that makes an operation due now, for a commit about something else.
// There is none for an operation that waits for nothing, for one that is due, and for the empty
// key.
func (l *Ledger) makeDueNow(ctx context.Context, key operation.Key) ([]Write, error) {
	if key == "" {
		return nil, nil
	}
	_, writes, err := l.dueNow(ctx, key)
	return writes, err
}

// dueNow returns an operation's record, due now, and the write of that where it was due later.
func (l *Ledger) dueNow(ctx context.Context, key operation.Key) (operation.Record, []Write, error) {
	snapshot, err := l.store.Get(ctx, OperationPath(key))
	if err != nil {
		return operation.Record{}, nil, fmt.Errorf("reading %s: %w", key, err)
	}
	doc, now := snapshot.Documents[0], operation.Instant(snapshot.ReadTime)
	rec, err := readRecord(doc)
	if err != nil || !rec.DueAt.After(now) { // absent, too, where nothing is waited for
		return rec, nil, err
	}
	rec.DueAt = now
	_, write := l.writeRecord(doc, rec, now)
	return rec, []Write{write}, nil
}
