package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestTooOldToBeFound: a batch that is older than any open intent is left alone.
func TestTooOldToBeFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.submit("opledger:c-1", geminisim.StateSucceeded)
	w.clock.Advance(ledger.SearchFor + w.ledger.GiveUpAnyway() - grace)
	young := w.submit("opledger:c-2", geminisim.StateSucceeded)
	w.intend("c-1", ledger.Intention{})
	w.clock.Advance(grace + time.Second)
	if got := w.passWith(reconcile.Options{Adopt: true}); got != (reconcile.Summary{Settled: 1}) {
		t.Errorf("the pass says %+v", got)
	}
	w.isNotRegistered("older than the window", old)
	if rec := w.record(young); !rec.Registered {
		t.Errorf("%+v", rec)
	}
}

// TestFoundAfterALongOutage: where no pass could search for an intent in all the time in which it is
// searched for, the first one that can still finds its batch [G6].
func TestFoundAfterALongOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intend("c-1", ledger.Intention{})
	w.clock.Advance(-time.Minute) // Gemini's clock is behind the store's
	batch := w.submit("opledger:c-1", geminisim.StateRunning)
	w.clock.Advance(time.Minute + ledger.SearchFor + w.ledger.GiveUpAnyway() + 24*time.Hour)
	w.passWith(reconcile.Options{})
	if rec := w.record(batch); !rec.Registered {
		t.Errorf("%+v", rec)
	}
	if intent, err := w.ledger.Intent(t.Context(), "c-1"); err != nil || intent.State != ledger.IntentBound {
		t.Errorf("%+v, %v", intent, err)
	}
	for _, line := range w.logged() {
		if line["outcome"] == "abandoned" {
			t.Errorf("it was abandoned: %v", line)
		}
	}
}

// TestFoundAfterItWasAbandonedAndALongOutage: an intent that was given up while the list could not be
// read is searched for until a pass has read it, however late, and although the first one after the
// outage cannot either [G6].
func TestFoundAfterItWasAbandonedAndALongOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intend("c-1", ledger.Intention{})
	batch := w.submit("opledger:c-1", geminisim.StateRunning)
	unavailable := geminisim.ErrorAnswer(503, "later")
	unavailable.Times = 2
	w.sim.AnswerNext(geminisim.OpList, "", unavailable)
	for _, outage := range []time.Duration{
		w.ledger.GiveUpAnyway(), ledger.SearchFor + 24*time.Hour, time.Hour + interval,
	} {
		w.isNotRegistered("found too early", batch)
		w.clock.Advance(outage)
		w.passWith(reconcile.Options{})
		intent := w.intent("c-1")
		if intent.AbandonedAt.IsZero() || intent.State != ledger.IntentBound && intent.DueAt.IsZero() {
			t.Errorf("after %v: %+v", outage, intent)
		}
	}
	if rec := w.record(batch); !rec.Registered {
		t.Errorf("%+v", rec)
	}
}

// TestOldestOfManyIntents: the list is read back to the oldest intent, also where a hundred that were
// recorded later are due before it [G6].
func TestOldestOfManyIntents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intend("old", ledger.Intention{})
	batch := w.submit("opledger:old", geminisim.StateRunning)
	w.clock.Advance(stuckAfter - time.Hour)
	for i := range 101 {
		id := fmt.Sprint("young-", i)
		w.intend(id, ledger.Intention{})
		w.keep(id, named(w, fmt.Sprint("models/veo/operations/", i))) // so that it is due in minutes
	}
	w.clock.Advance(ledger.SearchFor + w.ledger.GiveUpAnyway() + 3*time.Hour - stuckAfter)
	w.passWith(reconcile.Options{})
	if rec := w.record(batch); !rec.Registered {
		t.Errorf("%+v", rec)
	}
}

// TestManyYoungIntents: a pass does not read all intents that wait, where those that are due later are
// younger [L4].
func TestManyYoungIntents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const many = 250
	for i := range many {
		w.intend(fmt.Sprint("c-", i), ledger.Intention{})
	}
	w.clock.Advance(grace)
	store := &billed{Store: w.store}
	if got, err := w.reconciler(w.over(store)).Pass(t.Context()); err != nil || got.Errors != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if lists := w.sim.Stats().BatchLists; lists != 1 || store.bill.Reads >= many {
		t.Errorf("%d lists; %+v", lists, store.bill)
	}
}
