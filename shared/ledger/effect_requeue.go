package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// maxRequeueWait bounds the time between two messages for an effect whose messages go unanswered.
const maxRequeueWait = time.Hour

// Requeue publishes an effect to the workers again. It moves the due time before it publishes, so
// that two passes publish once [R5]. Each unanswered message doubles the wait for the next: with an
// interval of 5 minutes 5, 10, 20 and 40 minutes, then an hour. A claim is an answer, and so are the
// end of an attempt and Decline. Where the message cannot be published the effect is due again for
// the next pass.
//
// ErrConflict: another call has changed the effect; leave it alone. ErrQueueFull: it is due again for the next
// pass, and so is what else would be requeued now. Any other error loses nothing: the effect is due again within
// an hour.
func (l Effects) Requeue(ctx context.Context, d DueEffect, passStart time.Time) error {
	effect := d.Effect
	effect.Unanswered++
	effect.DueAt = l.next(passStart, l.requeueIntervals(effect.Unanswered))
	what := fmt.Sprintf("requeueing effect %s of %s", effect.Name, effect.Operation)
	if err := l.commit(ctx, l.writeEffect(d.doc, effect)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	err := l.sendOne(ctx, Message{Operation: effect.Operation, Effect: effect.Name, Attempt: effect.Attempts + 1})
	if err == nil {
		return nil
	}
	again := l.unsent(ctx, what, d, passStart)
	if again != nil && errors.Is(err, ErrQueueFull) {
		return again
	}
	return errors.Join(err, again)
}

// requeueIntervals returns after how many intervals an effect with so many unanswered messages is
// due again.
func (l *protocol) requeueIntervals(unanswered int) int {
	most := max(int(maxRequeueWait/l.settings.Interval), 1)
	return min(1<<min(unanswered-1, 16), most)
}

// unsent takes back the count of a message that was not published, unless the effect has changed
// since. The effect is due at once: not before, where passes may have read already, and behind the start
// of this pass, which would find it again. It does so even when the caller's time is over, within a time
// of its own: where that ends, the error is ErrUnavailable and not the context's, which would be the
// caller's.
func (l *protocol) unsent(ctx context.Context, what string, d DueEffect, passStart time.Time) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	what += ", which was not published"
	err := l.retry(ctx, what, func(int) error {
		effect, read, err := l.effect(ctx, d.doc.Path)
		if err != nil || effect.Version != d.Effect.Version+1 {
			return err
		}
		effect.Unanswered = d.Effect.Unanswered
		effect.DueAt = dueFrom(dueFrom(d.Effect.DueAt, read.ReadTime), behindPass(passStart))
		return l.commit(ctx, l.writeEffect(read.Documents[0], effect))
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s: %w: not done within %v: %v", what, ErrUnavailable, publishTimeout, err)
	}
	return err
}
