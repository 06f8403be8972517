package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// The errors of ResolveConflict.
var (
	// ErrNoConflict: the record has no terminal state beside the one that stands.
	ErrNoConflict = errors.New("its record has no conflict that waits for an operator")
	// ErrEndsChanged: the operator has not seen the two states that the record has now.
	ErrEndsChanged = errors.New("another terminal state was reported meanwhile; check it first")
)

// ResolveConflict records that an operator has resolved the conflict of an operation [M5], as it is
// in seen, the record that the operator saw. The state that stands does not change, and no effect
// runs. The conflict leaves the lists, and the record keeps the other state. That state reported
// again is dropped; a third one is a new conflict. It returns the resolution that stands: the first
// of a conflict. Calling it again is safe.
//
// Errors: ErrNotFound; ErrNoConflict; ErrEndsChanged; ErrNoReason; else as Ingest.
func (l Operations) ResolveConflict(
	ctx context.Context, seen operation.Record, a Decision,
) (operation.Resolution, error) {
	var stands operation.Resolution
	err := l.retry(ctx, "resolving the conflict of "+string(seen.Key), func(int) error {
		rec, doc, read, err := l.record(ctx, seen.Key)
		if err != nil {
			return err
		}
		before, resolved := rec.Resolution(seen.ConflictState)
		switch {
		case a.Why == "":
			return ErrNoReason
		case !doc.Exists():
			return ErrNotFound
		case resolved: // before, perhaps by this call, whose answer was lost
			stands = before
			return nil
		case !rec.Conflicted():
			return ErrNoConflict
		case !sameEnds(rec, seen):
			return fmt.Errorf("%w: %s by %s at %s, beside %s", ErrEndsChanged, rec.ConflictState, rec.ConflictBy,
				rec.ConflictAt.Format(time.RFC3339), rec.State)
		}
		rec = operation.Resolve(rec, *a.at(read.ReadTime))
		stands, _ = rec.Resolution(rec.ConflictState)
		_, write := l.writeRecord(doc, rec, read.ReadTime)
		return l.commit(ctx, write)
	})
	return stands, err
}

// sameEnds reports whether nothing was reported between two readings of a conflict.
func sameEnds(a, b operation.Record) bool {
	return a.State == b.State && a.ConflictState == b.ConflictState && a.ConflictAt.Equal(b.ConflictAt)
}

// ErrRegistered: the operation is registered, so there is nothing to resolve.
var ErrRegistered = errors.New("the operation is registered")

// ResolveUnregistered records an operator's decision that an operation is rightly not registered
// [W5]: it is another program's, say. It leaves the list of unregistered operations, and can still
// be registered. It returns the decision that stands: of several the first. Calling it again is
// safe.
//
// Errors: ErrNotFound; ErrRegistered; ErrNoReason; else as Ingest.
func (l Operations) ResolveUnregistered(
	ctx context.Context, key operation.Key, a Decision,
) (operation.Decided, error) {
	return l.decideOnRecord(ctx, "resolving that "+string(key)+" is not registered", key, a,
		func(rec *operation.Record, _ time.Time) (**operation.Decided, error) {
			if rec.Registered {
				return nil, ErrRegistered
			}
			return &rec.UnregisteredResolved, nil
		})
}
