package ledgertest

import (
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// givenUp records an intent in a collection, and gives it up.
func (w *world) givenUp(id string, in operation.Collection) {
	w.Helper()
	i := w.intention(id)
	i.Collection = in
	if _, err := w.ledger().Intents.Intend(w.ctx, i); err != nil {
		w.Fatal(err)
	}
	w.store.Advance(w.settings.StuckAfter + time.Second)
	w.giveUp()
}

// endSearches ends the search for every abandoned intent.
func (w *world) endSearches() {
	w.Helper()
	w.store.Advance(ledger.SearchFor + time.Second)
	for _, due := range w.dueIntents().Items {
		if _, err := w.ledger().Intents.Postpone(w.ctx, due, w.now()); err != nil {
			w.Fatal(err)
		}
	}
}

// searches follows the searches for an intent from its due time to its due time, and returns how
// far each was from the one before it.
func (w *world) searches(id string) (gaps []time.Duration) {
	w.Helper()
	intent := w.intent(id)
	for last := w.now(); len(gaps) < 1000; {
		if intent.DueAt.IsZero() {
			return gaps
		}
		w.store.Advance(intent.DueAt.Sub(last) + time.Second)
		items := w.dueIntents().Items
		if len(items) != 1 {
			w.Fatalf("%d intents are due", len(items))
		}
		now := w.now()
		goesOn, err := w.ledger().Intents.Postpone(w.ctx, items[0], now)
		if err != nil {
			w.Fatal(err)
		}
		intent = w.intent(id)
		equal(w, "the search goes on", goesOn, !intent.DueAt.IsZero())
		gaps, last = append(gaps, now.Sub(last)), now
	}
	w.Fatal("it is searched for without an end")
	return nil
}

// grow checks that searches begin an interval apart, become rarer, and are hourly at last, for as
// long as they should be.
func (w *world) grow(gaps []time.Duration) {
	w.Helper()
	var all, longest time.Duration
	for _, gap := range gaps {
		if slack := 2 * w.settings.Interval; gap < longest-slack || gap > time.Hour+slack {
			w.Errorf("%v after one of %v", gap, longest)
		}
		all, longest = all+gap, max(longest, gap)
	}
	if len(gaps) < 70 || len(gaps) > 130 {
		w.Errorf("%d searches", len(gaps))
		return
	}
	between(w, "the first", gaps[0], w.settings.Interval*8/10, w.settings.Interval)
	between(w, "the longest", longest, 50*time.Minute, 10*time.Minute)
	between(w, "all", all, ledger.SearchFor, time.Hour+time.Minute)
}

// Intents that were given up are searched for, and names that deliveries brought are looked up.
var intentSearch = join([]ledgerTest{
	{"a batch is searched for after its intent was given up, ever more rarely, for 72 hours [G6]", func(w *world) {
		for _, in := range []operation.Collection{operation.Batches, ""} {
			id := "i-" + string(in)
			w.givenUp(id, in)
			intent := w.intent(id)
			equal(w, "it expires while it is searched for", intent.ExpireAt.IsZero(), true)
			equal(w, "searched for", intent.Searched(w.now()), true)
			w.grow(w.searches(id))
			intent = w.intent(id)
			equal(w, "searched for at last", intent.Searched(w.now()), false)
			equal(w, "state", intent.State, ledger.IntentAbandoned)
			near(w, "kept for [L3]", intent.ExpireAt.Sub(w.now()), 2*w.settings.Retention)
			w.name = nameOf(w, "batches/late-"+id)
			equal(w, "bound all the same", w.ingest(w.intended("d1", id, operation.Running, 80*time.Hour)).Bound, true)
		}
	}},
	{"what cannot be listed is not searched for [G6]", func(w *world) {
		for _, in := range []operation.Collection{operation.Operations, operation.Interactions} {
			id := "i-" + string(in)
			w.givenUp(id, in)
			equal(w, "searched for", w.intent(id).Searched(w.now()), false)
			equal(w, "due", w.intent(id).DueAt.IsZero(), true)
			near(w, "kept for [L3]", w.intent(id).ExpireAt.Sub(w.now()), 2*w.settings.Retention)
		}
	}},
	{"an intent is claimed by one pass [R6]", func(w *world) {
		w.givenUp("i-1", operation.Batches)
		w.store.Advance(w.settings.Interval)
		items := w.dueIntents().Items
		if len(items) != 1 {
			w.Fatalf("%d intents are due", len(items))
		}
		if _, err := w.ledger().Intents.Postpone(w.ctx, items[0], w.now()); err != nil {
			w.Fatal(err)
		}
		if _, err := w.ledger().Intents.Postpone(w.ctx, items[0], w.now()); !isConflict(err) {
			w.Errorf("again: %v, want ErrConflict", err)
		}
		equal(w, "due", len(w.dueIntents().Items), 0)
	}},
	{"a search that could not ask Gemini goes on after its time, by one pass, hourly [G6, L3]", func(w *world) {
		w.givenUp("i-1", operation.Batches)
		w.store.Advance(ledger.SearchFor + time.Second)
		items := w.dueIntents().Items
		if len(items) != 1 || !items[0].Intent.SearchOver(w.now()) {
			w.Fatalf("due: %+v", items)
		}
		if err := w.ledger().Intents.ProlongSearch(w.ctx, items[0], w.now()); err != nil {
			w.Fatal(err)
		}
		if err := w.ledger().Intents.ProlongSearch(w.ctx, items[0], w.now()); !isConflict(err) {
			w.Errorf("again: %v, want ErrConflict", err)
		}
		intent := w.intent("i-1")
		near(w, "due in", intent.DueAt.Sub(w.now()), time.Hour)
		equal(w, "it expires while it is searched for", intent.ExpireAt.IsZero(), true)
		w.store.Advance(time.Hour + time.Second)
		goesOn, err := w.ledger().Intents.Postpone(w.ctx, w.dueIntents().Items[0], w.now())
		equal(w, "at last it is over", !goesOn && err == nil, true)
	}},
	{"an intent that is given up is searched for at once, also where its names are old [G6]", func(w *world) {
		w.intend("i-1")
		w.keepName("i-1", "operations/v1")
		w.store.Advance(w.settings.StuckAfter + time.Second)
		w.giveUp()
		between(w, "due in", w.intent("i-1").DueAt.Sub(w.now()), w.settings.Interval*7/10, w.settings.Interval)
	}},
	{"an unverified delivery shows whether an intent waits under its id [G6]", func(w *world) {
		e := w.intended("d1", "i-1", operation.Succeeded, time.Second)
		equal(w, "not registered and not intended", w.unverified(e).Waiting, false)
		w.intend("i-1")
		equal(w, "OPEN", w.unverified(e).Waiting, true)
		w.register()
		equal(w, "registered", w.unverified(e).Waiting, false)
		e.Name = nameOf(w, "batches/another")
		w.store.Advance(w.settings.StuckAfter + time.Second)
		w.giveUp()
		equal(w, "ABANDONED", w.unverified(e).Waiting, true)
		w.ingest(e)
		e.Name = nameOf(w, "batches/third")
		equal(w, "BOUND", w.unverified(e).Waiting, false)
	}},
}, intentSearchNames)
