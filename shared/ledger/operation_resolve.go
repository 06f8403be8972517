package ledger

import (
	"context"
	"errors"

	"github.com/opledger/opledger/shared/operation"
)

// ErrNoConflict: no event has named another end than the one that stands.
var ErrNoConflict = errors.New("it did not end in two ways")

// ResolveConflict records that an operator has dealt with the two ends of an operation [M5]. The end
// that stands does not change, and no effect runs. The conflict leaves the lists, and the record
// keeps the other end. A further, different end is a new conflict. It returns the resolution that
// stands: of several the first. Calling it again is safe.
//
// Errors: ErrNotFound; ErrNoConflict; ErrNoReason; else as Ingest.
func (l *Ledger) ResolveConflict(
	ctx context.Context, key operation.Key, a Abandonment,
) (operation.Abandonment, error) {
	var stands operation.Abandonment
	err := l.decide(ctx, "resolving the conflict of "+string(key), func(int) error {
		snapshot, err := l.store.Get(ctx, OperationPath(key))
		if err != nil {
			return err
		}
		doc, now := snapshot.Documents[0], snapshot.ReadTime
		rec, err := readRecord(doc)
		switch {
		case err != nil:
			return err
		case a.Why == "":
			return ErrNoReason
		case !doc.Exists():
			return ErrNotFound
		case rec.Resolved(): // before, perhaps by this call, whose answer was lost
			stands = *rec.ConflictResolved
			return nil
		case !rec.Conflicted():
			return ErrNoConflict
		}
		rec = operation.Resolve(rec, *a.at(now))
		stands = *rec.ConflictResolved
		_, write := l.writeRecord(doc, rec, now)
		return l.commit(ctx, write)
	})
	return stands, err
}
