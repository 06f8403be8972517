package effects_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/effect"
)

// TestNothingStarves: pages full of effects that this revision does not know precede one that it
// does. The sweep goes on behind them and redelivery is not used for them, so nothing else waits.
// The revision that knows them performs each once.
func TestNothingStarves(t *testing.T) {
	onLine(t, []string{"new", "publish"}, func(w *line) {
		const n = 60 // of each: more than a page of the sweep
		w.plan(n)
		w.topic.Drain() // lost: all is left to the sweep
		old := w.revision(false, "publish")
		if summary := w.pass(); summary.EffectsRequeued != 2*n || summary.More {
			w.Errorf("%+v", summary)
		}
		again, got := w.deliver(old)
		if want := map[effect.Outcome]int{effect.Finished: n, effect.Unknown: n}; again != 0 || !cmp.Equal(got, want) {
			w.Errorf("%d again, %v, want %v", again, got, want)
		}
		story, err := w.ledger.Operations.Show(w.Context(), "batches/0000")
		if err != nil || story.Effects[0].Attempts != 0 || story.Effects[0].Fence != 0 {
			w.Errorf("an effect without a handler was claimed: %+v %v", story.Effects, err)
		}
		for range 11 {
			w.pass()
			if _, got := w.deliver(old); got[effect.Unknown] != n {
				w.Errorf("%v", got)
			}
		}
		// Each message is counted; the alert is logged once an hour.
		if got := w.lines(); got["effect unknown"] != 12*n || got["alert unknown-effect"] != 1 {
			w.Errorf("logged %v", got)
		}
		w.pass()
		if _, got := w.deliver(old); got[effect.Unknown] != n {
			w.Errorf("%v", got)
		}
		if got := w.lines(); got["alert unknown-effect"] != 1 {
			w.Errorf("an hour later: logged %v", got)
		}
		w.pass()
		if again, got := w.deliver(w.revision(false, "publish", "new")); again != 0 || got[effect.Finished] != n {
			w.Errorf("deployed: %d again, %v", again, got)
		}
		if len(w.ran) != 2*n {
			w.Errorf("performed %d effects", len(w.ran))
		}
	})
}

// TestUnknownEach: every effect without a handler alerts for itself, and a run of a rule alerts by
// its rule.
func TestUnknownEach(t *testing.T) {
	onLine(t, []string{"a", "b"}, func(w *line) {
		w.plan(3)
		w.deliver(w.revision(false))
		if got := w.lines(); got["effect unknown"] != 6 || got["alert unknown-effect"] != 2 {
			w.Errorf("logged %v", got)
		}
	})
}
