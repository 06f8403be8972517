package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// maxRequeueWait is how rarely at least the sweep hands over an effect whose messages nothing answers.
const maxRequeueWait = time.Hour

// Requeue hands an effect over to the workers again: first it moves its due time on, then it publishes a message, so that
// two passes publish once [R5]. Each message that nothing answers makes the wait for the next twice as long: with an interval
// of 5 minutes 5, 10, 20 and 40 minutes, then an hour. A claim is an answer, and so is Decline. Where the message cannot be
// published the effect is due again at once, for the next pass.
//
// ErrConflict: another call has changed it; leave it alone. Any other error loses nothing: the effect is due again within an
// hour at the latest.
func (l *Ledger) Requeue(ctx context.Context, d DueEffect, passStart time.Time) error {
	effect := d.Effect
	effect.Unanswered++
	effect.DueAt = l.next(passStart, l.requeueIntervals(effect.Unanswered))
	what := fmt.Sprintf("requeueing effect %s of %s", effect.Name, effect.Operation)
	if err := l.store.Commit(ctx, l.writeEffect(d.doc, effect)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	err := l.send(ctx, []Message{{Operation: effect.Operation, Effect: effect.Name, Attempt: effect.Attempts + 1}})
	if err == nil {
		return nil
	}
	return errors.Join(err, l.unsent(ctx, what, d))
}

// requeueIntervals returns after how many intervals an effect is due again that has had so many messages without an answer.
func (l *Ledger) requeueIntervals(unanswered int) int {
	most := max(int(maxRequeueWait/l.settings.Interval), 1)
	return min(1<<min(unanswered-1, 16), most)
}

// unsent takes back that a message was sent, unless the effect has changed since, also where the caller's time is over.
func (l *Ledger) unsent(ctx context.Context, what string, d DueEffect) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	return l.decide(ctx, what+", which was not published", func(int) error {
		snapshot, err := l.store.Get(ctx, d.doc.Path)
		if err != nil {
			return err
		}
		effect, err := readEffect(snapshot.Documents[0])
		if err != nil || effect.Version != d.Effect.Version+1 {
			return err
		}
		effect.Unanswered, effect.DueAt = d.Effect.Unanswered, d.Effect.DueAt
		return l.store.Commit(ctx, l.writeEffect(snapshot.Documents[0], effect))
	})
}

// Decline answers a message for a process that may not run its effect now, as while effects are paused. It says what a claim
// would come to, without claiming: Claimed, where it would be granted. Where messages before had no answer and the effect's due
// time has moved on, it is due again within an interval, so that the end of a pause is not felt late [R5]. Errors: as Ingest.
func (l *Ledger) Decline(ctx context.Context, key operation.Key, name string) (Verdict, error) {
	verdict := Absent
	err := l.decide(ctx, fmt.Sprintf("declining effect %s of %s", name, key), func(int) error {
		snapshot, err := l.store.Get(ctx, EffectPath(key, name))
		if err != nil {
			return err
		}
		doc, now := snapshot.Documents[0], snapshot.ReadTime
		effect, err := readEffect(doc)
		if err != nil || !doc.Exists() {
			return err
		}
		verdict, _ = effect.verdict(now, "")
		if effect.Unanswered < 2 || verdict != Claimed { // after one message it is due within an interval anyway
			return nil
		}
		effect.Unanswered = 0
		if soon := l.next(now, 1); soon.Before(effect.DueAt) {
			effect.DueAt = soon
		}
		return l.store.Commit(ctx, l.writeEffect(doc, effect))
	})
	if err != nil {
		return "", err
	}
	return verdict, nil
}
