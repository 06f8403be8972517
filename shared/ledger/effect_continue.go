package ledger

import (
	"context"
	"errors"
)

// errNoPublisher: the ledger has no Publisher, so the effect waits for the sweep.
var errNoPublisher = errors.New("there is no publisher")

// Continue gives the effect back because the caller's time is over, not because it failed. The
// attempt is not counted, any worker may claim the effect at once, and a message is published for
// it. unsent is why that message was not published, or nil. Nothing is lost then: the sweep finds
// the effect due. Errors: as Finish.
func (l Effects) Continue(ctx context.Context, lease Lease) (unsent, err error) {
	var m Message
	err = l.withLease(ctx, lease, "continuing", func(effect Effect, read Snapshot) error {
		docs, now := read.Documents, read.ReadTime
		m = Message{Operation: effect.Operation, Effect: effect.Name, Attempt: effect.Attempts + 1}
		switch {
		case effect.State == EffectPending && effect.lastHeldBy(lease):
			return nil // by this call before, whose answer was lost
		case !effect.heldBy(lease):
			return ErrLeaseLost
		}
		effect.State, effect.Unanswered = EffectPending, 0
		effect.closeAttempt(AttemptContinued, nil, now)
		effect.Attempts = max(effect.Attempts-1, 0)
		m.Attempt = effect.Attempts + 1
		effect.ClaimableAt, effect.DueAt = now, now
		return l.commit(ctx, l.writeEffect(docs[0], effect))
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
