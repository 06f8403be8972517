package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// The errors of giving up.
var (
	// ErrSettled: the operation has ended, so nothing is waited for.
	ErrSettled = errors.New("the operation has ended already")
	// ErrUnregistered: nobody registered the operation, so nothing is waited for.
	ErrUnregistered = errors.New("nobody registered the operation: nothing is waited for")
	// ErrNotDead: the effect is done, or still tried by itself.
	ErrNotDead = errors.New("the effect is not dead")
	// ErrNoReason: a person who gives something up says why.
	ErrNoReason = errors.New("a reason is needed")
)

// An Abandonment is a person's decision to give something up.
type Abandonment struct {
	By  string // who decided
	Why string // must not be empty
}

func (a Abandonment) at(now time.Time) *operation.Abandonment {
	return &operation.Abandonment{At: operation.Instant(now), By: shorten(a.By), Why: shorten(a.Why)}
}

// Abandon ends the waiting for a pending operation, on a person's word [R4]: it is looked up no more, alerts no more, and is
// not deleted [L3]. Its state stays, because that is Gemini's to say [M7]; a completion that arrives all the same counts and
// runs its effects. It returns the abandonment that stands: of two the first. Calling it again is safe.
//
// Errors: ErrNotFound; ErrSettled; ErrUnregistered; ErrNoReason; else as Ingest.
func (l *Ledger) Abandon(ctx context.Context, key operation.Key, a Abandonment) (operation.Abandonment, error) {
	var stands operation.Abandonment
	err := l.decide(ctx, "abandoning "+string(key), func(int) error {
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
		case rec.Abandoned != nil: // before, perhaps by us; the answer was lost
			stands = *rec.Abandoned
			return nil
		case rec.Settled():
			return fmt.Errorf("%w: it is %s", ErrSettled, rec.State)
		case !rec.Registered:
			return ErrUnregistered
		}
		rec.Abandoned = a.at(now)
		stands = *rec.Abandoned
		_, write := l.writeRecord(doc, rec, now)
		return l.store.Commit(ctx, write)
	})
	return stands, err
}

// AbandonEffect waives a DEAD effect, on a person's word: it stays DEAD, its operation's record says waived, and it no longer
// keeps either from expiring, nor its FAILED items, which are waived with it [L3]. It returns the abandonment that stands: of two the first. Calling it again is safe.
//
// Errors: ErrNotFound where there is no such effect; ErrNotDead; ErrNoReason; else as Ingest.
func (l *Ledger) AbandonEffect(ctx context.Context, key operation.Key, name string, a Abandonment) (operation.Abandonment, error) {
	var stands operation.Abandonment
	err := l.decide(ctx, fmt.Sprintf("abandoning effect %s of %s", name, key), func(int) error {
		snapshot, err := l.store.Get(ctx, EffectPath(key, name), OperationPath(key))
		if err != nil {
			return err
		}
		doc, recordDoc, now := snapshot.Documents[0], snapshot.Documents[1], snapshot.ReadTime
		effect, err := readEffect(doc)
		switch {
		case err != nil:
			return err
		case a.Why == "":
			return ErrNoReason
		case !doc.Exists():
			return fmt.Errorf("%w, or no such effect of it", ErrNotFound)
		case effect.State != EffectDead:
			return fmt.Errorf("%w: it is %s", ErrNotDead, effect.State)
		}
		waived := effect.Abandoned != nil // before, perhaps by us; the answer was lost
		if !waived {
			effect.Abandoned = a.at(now)
			effect.ExpireAt = now.Add(2 * l.settings.Retention) // outlives its record, as a DONE one does [S7]
		}
		stands = *effect.Abandoned
		if effect.Progress != nil { // first: a crash leaves a dead effect that can be waived
			if err := l.keepFailed(ctx, key, name, effect.ExpireAt); err != nil {
				return err
			}
		}
		if waived {
			return nil
		}
		return l.commitEnd(ctx, doc, recordDoc, effect, now, nil)
	})
	return stands, err
}
