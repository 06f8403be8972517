package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// errNoPublisher: the ledger has no Publisher, so the effect waits for the sweep.
var errNoPublisher = errors.New("there is no publisher")

// Continue gives the effect back because the caller's time is over, not because it failed. The
// attempt is not counted, any worker may claim the effect at once, and a message is published for
// it. unsent is why that message was not published, or nil, also where the queue is full. Nothing is
// lost then: the sweep finds the effect due. Errors: as Finish.
func (l Effects) Continue(ctx context.Context, lease Lease) (unsent, err error) {
	m, err := l.giveBack(ctx, lease, "continuing", nil, 0)
	switch {
	case err != nil:
		return nil, err
	case l.publish == nil:
		return errNoPublisher, nil
	default:
		return l.send(ctx, []Message{m}), nil
	}
}

// Postpone gives the effect back because it cannot be run now, which is no failure. The attempt is not
// counted. The effect may be claimed again once after has passed, and the sweep publishes it then. cause is
// what it waits for, for its history. Errors: as Finish.
func (l Effects) Postpone(ctx context.Context, lease Lease, cause error, after time.Duration) error {
	_, err := l.giveBack(ctx, lease, "postponing", cause, after)
	return err
}

// giveBack ends a claim without counting its attempt, and returns the message for the next one.
func (l *protocol) giveBack(
	ctx context.Context, lease Lease, doing string, cause error, after time.Duration,
) (Message, error) {
	var m Message
	err := l.withEffect(ctx, lease.Operation, lease.Effect, doing, func(effect Effect, read Snapshot) error {
		m = Message{Operation: effect.Operation, Effect: effect.Name, Attempt: effect.Attempts + 1}
		switch {
		case effect.State == EffectPending && effect.lastHeldBy(lease):
			return nil // by this call before, whose answer was lost
		case !effect.heldBy(lease):
			return ErrLeaseLost
		}
		effect.State, effect.Unanswered = EffectPending, 0
		effect.closeAttempt(AttemptContinued, cause, read.ReadTime)
		effect.Attempts = max(effect.Attempts-1, 0)
		if cause != nil { // it came as far as what it waits for: failures from before are over
			effect.Failing, effect.Lost = nil, nil
		}
		m.Attempt = effect.Attempts + 1
		effect.claimableFrom(operation.Instant(read.ReadTime.Add(after)))
		return l.commit(ctx, l.writeEffect(read.Documents[0], effect))
	})
	return m, err
}
