package reconcile

import (
	"context"
	"errors"

	"github.com/opledger/opledger/shared/ledger"
)

// sweep publishes due effects again [R5]. The error is that of each.
func (p *pass) sweep(ctx context.Context) error {
	if p.LeaveEffects {
		return nil
	}
	measure := func(page []ledger.DueEffect) {
		for _, due := range page {
			p.count.oldest(&p.count.OldestEffectSeconds, p.start, due.Effect.ClaimableAt) // the sweep itself moves dueAt
		}
	}
	find := behind(p.lookups, ledger.EffectsCollection, p.Ledger.Effects.Due)
	return each(ctx, p.count, newWindow(few), p.start, find, measure, func(due ledger.DueEffect) error {
		switch err := p.Ledger.Effects.Requeue(ctx, due, p.start); {
		case err == nil:
			p.count.add(&p.count.EffectsRequeued)
			if due.Effect.State == ledger.EffectClaimed {
				p.count.add(&p.count.EffectsUncertain)
			}
		case errors.Is(err, ledger.ErrConflict): // a worker or another pass has it
		default:
			p.count.fail(ctx, "requeueing an effect", err)
		}
		return nil
	})
}
