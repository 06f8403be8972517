package ledger

import (
	"cmp"
	"context"
	"fmt"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// Waive waives a DEAD effect, on an operator's decision. It stays DEAD, and its operation's
// record says waived. It no longer keeps itself, the record or its FAILED items from expiring [L3].
// It returns the decision that stands: of several the first. Calling it again is safe.
//
// Errors: ErrNotFound where there is no such effect; ErrNotDead; ErrNoReason; ErrStep, while the job needs
// it; else as Ingest.
func (l Effects) Waive(
	ctx context.Context, key operation.Key, name string, a Decision,
) (operation.Decided, error) {
	var stands operation.Decided
	err := l.withEffect(ctx, key, name, "waiving", func(effect Effect, read Snapshot) error {
		docs, now := read.Documents, read.ReadTime
		switch {
		case a.Why == "":
			return ErrNoReason
		case !docs[0].Exists():
			return fmt.Errorf("%w, or no such effect of it", ErrNotFound)
		case effect.State != EffectDead:
			return fmt.Errorf("%w: it is %s", ErrNotDead, effect.State)
		}
		if job.IsStep(name) && effect.Abandoned == nil {
			if err := l.stepUnneeded(ctx, effect, docs[1]); err != nil {
				return err
			}
		}
		waived := effect.Abandoned != nil // before, perhaps by this call, whose answer was lost
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
		return l.commitStatus(ctx, docs[0], docs[1], effect, now, nil)
	}, OperationPath(key))
	return stands, err
}

// stepUnneeded returns ErrStep where a job still needs an effect that is a step of it.
func (l *protocol) stepUnneeded(ctx context.Context, step Effect, recordDoc Document) error {
	rec, err := l.readRecord(recordDoc)
	if err != nil {
		return err
	}
	return l.unneeded(ctx, cmp.Or(partOf(rec), string(step.Operation)), ErrStep)
}
