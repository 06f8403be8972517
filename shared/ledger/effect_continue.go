package ledger

import (
	"context"
	"errors"
	"time"
)

// errNoPublisher: nobody can be told.
var errNoPublisher = errors.New("there is no publisher")

// Continue gives the effect back because the caller's time is over, not because it failed: the attempt is not counted, anybody
// may claim the effect at once, and a message asks them to. unsent is why that message was not handed over, or nil; nothing is
// lost then, since the sweep finds the effect due. Errors: as Finish.
func (l *Ledger) Continue(ctx context.Context, lease Lease) (unsent, err error) {
	var m Message
	err = l.withEffect(ctx, lease, "handing on", func(effect Effect, docs []Document, now time.Time) error {
		m = Message{Operation: effect.Operation, Effect: effect.Name, Attempt: effect.Attempts + 1}
		switch {
		case effect.State == EffectPending && effect.lastHeldBy(lease):
			return nil // by us before; the answer was lost
		case !effect.heldBy(lease):
			return ErrLeaseLost
		}
		effect.State = EffectPending
		effect.Attempts = max(effect.Attempts-1, 0)
		m.Attempt = effect.Attempts + 1
		effect.ClaimableAt, effect.DueAt = now, now
		return l.store.Commit(ctx, l.writeEffect(docs[0], effect))
	})
	switch {
	case err != nil:
		return nil, err
	case l.publish == nil:
		return errNoPublisher, nil
	default:
		return l.send(ctx, []Message{m}), nil
	}
}
