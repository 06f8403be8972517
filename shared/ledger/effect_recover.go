package ledger

import (
	"context"

	"github.com/opledger/opledger/shared/operation"
)

// A RecoverOutcome is the result of Recover, in words that commands print.
type RecoverOutcome string

// The outcomes of Recover.
const (
	RecoverDone      RecoverOutcome = "recovered" // it was open or DEAD, and is DONE now
	RecoverKnown     RecoverOutcome = "known"     // it was DONE already
	RecoverUnplanned RecoverOutcome = "unplanned" // there is no such effect yet: its operation has not ended here
	RecoverHeld      RecoverOutcome = "held"      // a worker runs it now: nothing was recorded
)

// Recover records as DONE an effect that was DONE before the store was restored from a backup [S7].
// by is the operator, whose evidence is the functions' log. An effect that the log does not show
// must not be recovered: it runs again, with the same key. Calling it again is safe. Errors: as
// Ingest.
func (l Effects) Recover(ctx context.Context, key operation.Key, name, by string) (RecoverOutcome, error) {
	var outcome RecoverOutcome
	var last *Recovery
	err := l.withEffect(ctx, key, name, "recovering", func(effect Effect, read Snapshot) error {
		docs, now := read.Documents, read.ReadTime
		switch {
		case !docs[0].Exists():
			outcome = RecoverUnplanned
			return nil
		case effect.State == EffectDone:
			outcome = RecoverKnown
			if last != nil && effect.Recovered != nil && *effect.Recovered == *last {
				outcome = RecoverDone // our own commit, whose answer was lost
			}
			return nil
		case effect.State == EffectClaimed && effect.ClaimableAt.After(now):
			outcome = RecoverHeld
			return nil
		}
		if effect.State == EffectClaimed {
			effect.closeAttempt(AttemptInterrupted, nil, effect.ClaimableAt)
		}
		last = &Recovery{At: operation.Instant(now), By: printable(shorten(by))}
		outcome, effect.Recovered, effect.Abandoned = RecoverDone, last, nil
		return l.commitEnd(ctx, docs[0], docs[1], effect, EffectDone, now, nil)
	}, OperationPath(key))
	return outcome, err
}
