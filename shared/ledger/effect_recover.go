package ledger

import (
	"context"
	"fmt"

	"github.com/opledger/opledger/shared/operation"
)

// A RecoverOutcome is what Recover found, in words that commands print.
type RecoverOutcome string

// The outcomes of Recover.
const (
	RecoverDone      RecoverOutcome = "recovered" // it was open or DEAD, and is DONE now
	RecoverKnown     RecoverOutcome = "known"     // it was DONE already
	RecoverUnplanned RecoverOutcome = "unplanned" // there is no such effect yet: its operation has not ended here
	RecoverHeld      RecoverOutcome = "held"      // a worker runs it now: pause effects first
)

// Recover records that an effect is DONE which was DONE before the store was restored from a backup [S7]. by is the operator
// who says so, with the functions' log as evidence: the ledger itself no longer knows. What the log does not show is never
// recovered; it is run again, with the same key. Calling it again is safe. Errors: as Ingest.
func (l *Ledger) Recover(ctx context.Context, key operation.Key, name, by string) (RecoverOutcome, error) {
	var outcome RecoverOutcome
	var last *Recovery
	err := l.decide(ctx, fmt.Sprintf("recovering effect %s of %s", name, key), func(int) error {
		snapshot, err := l.store.Get(ctx, EffectPath(key, name), OperationPath(key))
		if err != nil {
			return err
		}
		doc, recordDoc, now := snapshot.Documents[0], snapshot.Documents[1], snapshot.ReadTime
		effect, err := readEffect(doc)
		switch {
		case err != nil:
			return err
		case !doc.Exists():
			outcome = RecoverUnplanned
			return nil
		case effect.State == EffectDone:
			outcome = RecoverKnown
			if last != nil && effect.Recovered != nil && *effect.Recovered == *last { // our own commit, whose answer was lost
				outcome = RecoverDone
			}
			return nil
		case effect.State == EffectClaimed && effect.ClaimableAt.After(now):
			outcome = RecoverHeld
			return nil
		}
		last = &Recovery{At: operation.Instant(now), By: printable(shorten(by))}
		outcome, effect.Recovered, effect.Abandoned = RecoverDone, last, nil
		return l.end(ctx, doc, recordDoc, effect, EffectDone, now, nil)
	})
	return outcome, err
}
