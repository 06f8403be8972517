package reconcile

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/opledger/opledger/shared/ledger"
)

// sweep publishes due effects again [R5]. Where the workers' queue is full it ends: what is left stays due, is
// counted as more to do, and is no error. The error is that of each.
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
	var full atomic.Bool
	return each(ctx, p.count, newWindow(few), p.start, find, measure, func(due ledger.DueEffect) error {
		if full.Load() {
			return ledger.ErrQueueFull
		}
		switch err := p.Ledger.Effects.Requeue(ctx, due, p.start); {
		case err == nil:
			p.count.add(&p.count.EffectsRequeued)
			if due.Effect.State == ledger.EffectClaimed {
				p.count.add(&p.count.EffectsUncertain)
			}
		case errors.Is(err, ledger.ErrQueueFull):
			if !full.Swap(true) {
				p.Log.InfoContext(ctx, "the queue of effects is full: a later sweep goes on with what is due", "event",
					"reconcile")
			}
			return err
		default: // in a conflict a worker or another pass has it
			p.count.fail(ctx, "requeueing an effect", err)
		}
		return nil
	})
}
