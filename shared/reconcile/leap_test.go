package reconcile_test

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestLeapGivesNothingUp: a clock that leaps forward gives no intent up, and alerts nothing, until it has
// run for StuckAfter [G6, R4].
func TestLeapGivesNothingUp(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, setting{alerts: true})
	store := ledgertest.Skew(w.store)
	w.ledger = w.over(store)
	w.intend("c-1", ledger.Intention{})
	w.register("a", geminisim.StateRunning)
	if err := store.Leap(t.Context(), 30*time.Hour); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := w.reconciler(w.ledger).Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, page := range w.published() {
			t.Errorf("R4: published %s", page)
		}
		w.clock.Advance(time.Hour)
	}
	if intent := w.intent("c-1"); intent.State != ledger.IntentOpen {
		t.Errorf("G6: %+v", intent)
	}
	w.clock.Advance(time.Hour + time.Minute)
	if _, err := w.reconciler(w.ledger).Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	if intent := w.intent("c-1"); intent.State != ledger.IntentAbandoned {
		t.Errorf("G6: %+v", intent)
	}
}

// TestLeapDecidesNothing: a clock that leaps forward, and perhaps back, does not make an attempt five
// minutes old: its submitter may be about to create the batch, so no other may submit [G6].
func TestLeapDecidesNothing(t *testing.T) {
	t.Parallel()
	for what, leaps := range map[string][]time.Duration{
		"forward": {8 * time.Hour}, "forward and back": {8 * time.Hour, 6*time.Minute - 8*time.Hour},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			store := ledgertest.Skew(w.store)
			w.ledger = w.over(store)
			w.intend("c-1", ledger.Intention{Collection: operation.Batches})
			for _, by := range leaps {
				if err := store.Leap(t.Context(), by); err != nil {
					t.Fatal(err)
				}
			}
			for _, want := range []ledger.IntentVerdict{ledger.MustWait, ledger.MaySubmit} {
				if _, err := w.reconciler(w.ledger).Pass(t.Context()); err != nil {
					t.Fatal(err)
				}
				w.decides("c-1", want)
				w.clock.Advance(attemptOver)
			}
		})
	}
}

// TestLeapBackLooksUp: what a pass postponed while the clock was hours ahead is looked up by the first
// pass after the clock was set right, on a real file [R6].
func TestLeapBackLooksUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.register("a", geminisim.StateRunning)
	w.clock.Advance(8 * time.Hour)
	w.passWith(reconcile.Options{})
	w.clock.Advance(-8 * time.Hour)
	w.move(name, geminisim.StateSucceeded)
	w.clock.Advance(grace + interval)
	if got := w.passWith(reconcile.Options{}); got.Settled != 1 {
		t.Errorf("R6: %+v", got)
	}
}
