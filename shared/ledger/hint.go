package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Hinted says what a delivery is about that cannot be believed without asking Gemini.
type Hinted struct {
	// Name is the operation that an event of the same name and correlation id would change [K6], and the name to ask the API
	// with [K5].
	Name operation.Name
	// Record is the operation's; the zero Record where there is none.
	Record operation.Record
	// Duplicate: this very delivery was taken in before [W4].
	Duplicate bool
}

// Hint reads what the ledger knows of a delivery's operation, as Ingest would find it, and writes nothing. The error is the
// store's; the same call may succeed later.
func (l *Ledger) Hint(ctx context.Context, name operation.Name, correlationID, deliveryID string) (Hinted, error) {
	paths := []Path{OperationPath(name.Key), deliveryPath(name.Key, operation.Webhook, deliveryID)}
	if correlationID != "" {
		paths = append(paths, intentPath(correlationID))
	}
	snapshot, err := l.store.Get(ctx, paths...)
	if err != nil {
		return Hinted{}, fmt.Errorf("finding what a hint at %s means: %w", name.Key, err)
	}
	rec, err := readRecord(snapshot.Documents[0])
	if err != nil {
		return Hinted{}, err
	}
	if !rec.Registered && correlationID != "" {
		intent, err := readIntent(snapshot.Documents[2])
		if err != nil {
			return Hinted{}, err
		}
		if key := intent.elsewhere(name.Key); key != "" {
			return l.Hint(ctx, operation.Name{Key: key, Resource: string(key)}, "", deliveryID)
		}
	}
	hinted := Hinted{Name: name, Record: rec}
	if rec.Name != "" {
		hinted.Name.Resource = rec.Name
	}
	hinted.Duplicate, _, err = takenIn(snapshot.Documents[1], rec)
	return hinted, err
}

// Hasten makes a pending operation due now, and reports whether it was due later: reconciliation then asks Gemini about it at
// its next pass, rather than a caller that has no time to. It changes no state [M7]. There is nothing to hasten of an
// operation that is settled or that nobody registered. Errors: ErrNotFound; otherwise as Ingest.
func (l *Ledger) Hasten(ctx context.Context, key operation.Key) (bool, error) {
	var hastened time.Time // by a commit whose answer was lost
	sooner := false
	err := l.decide(ctx, "hastening "+string(key), func(int) error {
		snapshot, err := l.store.Get(ctx, OperationPath(key))
		if err != nil {
			return err
		}
		doc, now := snapshot.Documents[0], operation.Instant(snapshot.ReadTime)
		rec, err := readRecord(doc)
		switch {
		case err != nil:
			return err
		case !doc.Exists():
			return ErrNotFound
		case !rec.DueAt.After(now): // absent, too, where nothing is waited for
			sooner = !hastened.IsZero() && rec.DueAt.Equal(hastened)
			return nil
		}
		rec.DueAt, hastened, sooner = now, now, true
		_, write := l.writeRecord(doc, rec, now)
		return l.store.Commit(ctx, write)
	})
	return sooner && err == nil, err
}
