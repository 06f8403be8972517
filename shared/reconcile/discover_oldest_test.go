package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestTooOldToBeFound: a batch that is older than any open intent is left alone.
func TestTooOldToBeFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.submit("opledger:c-1", geminisim.StateSucceeded)
	w.clock.Advance(ledger.SearchFor + w.ledger.Intents.GiveUpAnyway() - grace)
	young := w.submit("opledger:c-2", geminisim.StateSucceeded)
	w.intend("c-1", ledger.Intention{})
	w.clock.Advance(grace + time.Second)
	if got := w.passWith(reconcile.Options{Adopt: true}); got != (reconcile.Summary{Settled: 1}) {
		t.Errorf("the pass says %+v", got)
	}
	w.isNotRegistered("older than the window", old)
	w.isRegistered(young)
}

// TestFoundAfterALongOutage: where no pass could search for an intent in all the time in which it
// is searched for, the first one that can still finds its batch [G6].
func TestFoundAfterALongOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intend("c-1", ledger.Intention{})
	w.clock.Advance(-time.Minute) // Gemini's clock is behind the store's
	batch, other := w.submit("opledger:c-1", geminisim.StateRunning), w.submit("not ours", geminisim.StateRunning)
	w.clock.Advance(time.Minute + ledger.SearchFor + w.ledger.Intents.GiveUpAnyway() + 24*time.Hour)
	w.passWith(reconcile.Options{Adopt: true})
	w.isRegistered(batch)
	w.isNotRegistered("too old to be adopted", other)
	if intent := w.intent("c-1"); intent.State != ledger.IntentBound {
		t.Errorf("%+v", intent)
	}
	if w.outcomes("abandoned", "c-1") > 0 {
		t.Error("it was abandoned")
	}
}

// TestFoundAfterItWasAbandonedAndALongOutage: an intent that was given up while the list could not
// be read is still searched for after a long outage, and although the first pass after it cannot
// read the list either [G6].
func TestFoundAfterItWasAbandonedAndALongOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intend("c-1", ledger.Intention{})
	batch := w.submit("opledger:c-1", geminisim.StateRunning)
	w.fails(geminisim.OpList, "", 503, 2)
	for _, outage := range []time.Duration{
		w.ledger.Intents.GiveUpAnyway(), ledger.SearchFor + 24*time.Hour, time.Hour + interval,
	} {
		w.isNotRegistered("found too early", batch)
		w.clock.Advance(outage)
		w.passWith(reconcile.Options{})
		intent := w.intent("c-1")
		if intent.AbandonedAt.IsZero() || intent.State != ledger.IntentBound && intent.DueAt.IsZero() {
			t.Errorf("after %v: %+v", outage, intent)
		}
	}
	w.isRegistered(batch)
}

// TestFoundAfterItsSubmitterCameBack: what was submitted before an intent was renewed is found,
// however long ago that was [G6].
func TestFoundAfterItsSubmitterCameBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intend("c-1", ledger.Intention{Collection: operation.Batches})
	w.clock.Advance(attemptOver)
	w.passWith(reconcile.Options{})
	batch := w.submit("opledger:c-1", geminisim.StateRunning) // late, against all that is promised
	w.clock.Advance(ledger.SearchFor + w.ledger.Intents.GiveUpAnyway() + 24*time.Hour)
	w.decides("c-1", ledger.MaySubmit)
	w.clock.Advance(grace)
	w.passWith(reconcile.Options{})
	w.isRegistered(batch)
}

// TestOldestOfManyIntents: the list is read back to the oldest intent that is due, also where a
// hundred that were recorded later are due before it [G6].
func TestOldestOfManyIntents(t *testing.T) {
	t.Parallel()
	inBubble(t, setting{}, func(t *testing.T, w *world) {
		w.intend("old", ledger.Intention{})
		batch := w.submit("opledger:old", geminisim.StateRunning)
		w.clock.Advance(stuckAfter - time.Hour)
		for i := range 101 {
			id := fmt.Sprint("young-", i)
			w.intend(id, ledger.Intention{})
			w.keep(id, named(w, fmt.Sprint("models/veo/operations/", i))) // so that it is due in minutes
		}
		w.clock.Advance(ledger.SearchFor + w.ledger.Intents.GiveUpAnyway() + 3*time.Hour - stuckAfter)
		w.passWith(reconcile.Options{})
		w.isRegistered(batch)
	})
}

// TestManyYoungIntents: a pass does not read all intents that wait, where none is due [L4].
func TestManyYoungIntents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit("another", geminisim.StateRunning) // an empty list is read more than once
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
