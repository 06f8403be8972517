package ledgertest

import (
	"errors"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// once returns a fault plan: each fault once, and the last for ever.
func once(faults ...Fault) func() Fault {
	return func() Fault {
		fault := faults[0]
		if len(faults) > 1 {
			faults = faults[1:]
		}
		return fault
	}
}

// itemRecordCrashes kill the worker at every commit of a run over items; the next worker continues,
// and in the end each item was recorded once.
var itemRecordCrashes = []ledgerTest{
	{"a crash between two chunks, at every place [S6, K4]", func(w *world) {
		const all, each = 12, 3
		w.succeed()
		recorded := map[string]int{}
		crash := 0
		for w.effect(publish).State != ledger.EffectDone {
			if crash++; crash > 20 {
				w.Fatal("it does not end")
			}
			lease := w.granted(publish)
			l := w.over(InjectFunc(w.store, once(None, FailBefore))) // one more commit, then it is dead
			at, err := lease.Progress, error(nil)
			for at.Next < all {
				chunk := numbered(at.Next, each)
				var next ledger.ItemProgress
				if next, err = l.Items.Record(w.ctx, lease, at, chunk); err != nil {
					break
				}
				for _, o := range chunk {
					recorded[o.Key]++
				}
				at = next
			}
			if err == nil {
				err = l.Effects.Finish(w.ctx, lease)
			}
			if err != nil && !errors.Is(err, ledger.ErrUnavailable) {
				w.Fatal(err)
			}
			w.store.Advance(w.settings.ClaimTTL + time.Second)
		}
		equal(w, "items recorded", len(recorded), all)
		for key, times := range recorded {
			equal(w, key, times, 1)
			equal(w, key+", attempts", w.item(key).Attempts, 1)
		}
		w.stands("in the end", "done 12 failed 0 of 0, next 12, waiting []")
	}},
}
