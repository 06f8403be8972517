package ledgertest

import (
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// leap sets the clock of the world's store.
func (w *world) leap(d time.Duration) {
	w.Helper()
	if checked, ok := w.store.Store.(*Checked); ok {
		checked.Leaps = true
	}
	if err := w.store.Leap(w.ctx, d); err != nil {
		w.Fatal(err)
	}
}

// bringBack makes due what is too far away, and checks how many documents that were.
func (w *world) bringBack(want int) {
	w.Helper()
	n, err := w.ledger().Passes.RepairDueTimes(w.ctx, w.now())
	if err != nil || n != want {
		w.Errorf("brought back %d, want %d; %v", n, want, err)
	}
}

// leapTests: a clock that leaps forward and back leaves nothing farther away than it can be, and
// nothing is given up by an age that the clock made up.
var leapTests = []ledgerTest{
	{"a delivery of before the record, by a clock that was ahead, is a duplicate [W4]", func(w *world) {
		w.leap(8 * time.Hour)
		w.register()
		w.leap(-8 * time.Hour)
		for _, e := range []operation.Event{
			w.event("running", operation.Running, time.Second), w.event("pending", operation.Pending, time.Second),
		} {
			w.ingest(e)
			equal(w, e.DeliveryID, w.ingest(e).Outcome, ledger.Duplicate)
		}
	}},
	{"an end is not withheld for a registration by a clock that was ahead [L3]", func(w *world) {
		w.leap(29 * 24 * time.Hour)
		w.register()
		w.leap(-29 * 24 * time.Hour)
		r := w.ingest(w.event("success", operation.Succeeded, time.Second))
		equal(w, "planned", r.Planned, 1)
		equal(w, "withheld", r.Withheld, 0)
	}},
	{"an effect fails since now where it failed first by a clock that was ahead [S4]", func(w *world) {
		w.succeed()
		w.leap(29 * 24 * time.Hour)
		w.store.Advance(w.release(w.granted(publish), 0))
		lease := w.granted(publish)
		w.leap(-29 * 24 * time.Hour)
		w.release(lease, 0)
		failing := w.effect(publish).Failing
		equal(w, "failing", failing.Since, failing.Last)
	}},
	{"an item fails since now where it failed first by a clock that was ahead [S4]", func(w *world) {
		w.succeed()
		w.leap(29 * 24 * time.Hour)
		lease, failed := w.granted(publish), named(0, "a")
		failed[0].Err = errFailed
		at := w.recordItems(lease, lease.Progress, failed)
		w.leap(-29 * 24 * time.Hour)
		w.recordItems(lease, at, known(failed...))
		equal(w, "failing", w.item("a").FailingSince, w.item("a").LastFailedAt)
	}},
	{"a look-up is due as soon as the clock is back [R6]", func(w *world) {
		w.register()
		w.leap(8 * time.Hour)
		w.postpone()
		w.leap(-8 * time.Hour)
		equal(w, "due", len(w.dueOperations().Items), 0)
		w.bringBack(1)
		equal(w, "due, brought back", len(w.dueOperations().Items), 1)
		w.bringBack(0)
	}},
	{"what waits as it should stays [R6, S4, G6]", func(w *world) {
		w.succeed()
		w.intend("i-1")
		w.release(w.granted(publish), time.Hour)
		w.name = nameOf(w, "batches/other")
		w.register()
		w.leap(time.Hour)
		w.leap(-time.Hour)
		w.bringBack(0)
	}},
	{"a lease of a clock that was ahead ends with ClaimTTL, and its worker may finish [S5, S6]", func(w *world) {
		w.succeed()
		w.leap(8 * time.Hour)
		lease := w.granted(publish)
		w.leap(-8 * time.Hour)
		w.bringBack(1)
		near(w, "its end", w.effect(publish).ClaimableAt.Sub(w.now()), w.settings.ClaimTTL)
		equal(w, "meanwhile", w.claim(publish).Verdict, ledger.Held)
		w.finish(lease)
	}},
	{"… and is seized where the worker has died [S2]", func(w *world) {
		w.succeed()
		w.leap(8 * time.Hour)
		w.granted(publish)
		w.leap(-8 * time.Hour)
		w.bringBack(1)
		w.store.Advance(w.settings.ClaimTTL + time.Second)
		equal(w, "swept [R5]", w.sweep(), 1)
		equal(w, "seized", w.granted(publish).Seized, true)
	}},
	{"an effect that failed while the clock was ahead is due; one whose receiver asked to wait is not [S4]",
		func(w *world) {
			w.succeed()
			w.leap(8 * time.Hour)
			w.release(w.granted(publish), 0)
			w.leap(-8 * time.Hour)
			w.bringBack(1)
			lease := w.granted(publish)
			w.release(lease, 20*time.Hour)
			w.bringBack(0)
			equal(w, "it waits", w.claim(publish).Verdict, ledger.BackingOff)
		}},
	{"an intent that was recorded while the clock was ahead is given up in its time [G6]", func(w *world) {
		w.leap(29 * day)
		w.intend("i-1")
		w.leap(-29 * day)
		w.bringBack(1)
		equal(w, "due", len(w.dueIntents().Items), 1)
		near(w, "to be given up", w.intent("i-1").GiveUpAt.Sub(w.now()), w.settings.StuckAfter)
	}},
	{"nothing is stuck, or given up by its age, until the clock has run for that long [R4, G6]", func(w *world) {
		w.paged()
		w.register()
		w.leap(8 * time.Hour)
		lookups, err := w.ledger().Passes.Begin(w.ctx, time.Minute)
		if err != nil {
			w.Fatal(err)
		}
		page := w.dueOperations().Items
		if err := lookups.Prepare(w.ctx, page, false); err != nil {
			w.Fatal(err)
		}
		p, err := lookups.Claim(w.ctx, page[0])
		if err != nil || p.Stuck || p.Alert {
			w.Errorf("%+v, %v", p, err)
		}
		equal(w, "steady at once", w.ledger().Passes.Steady(lookups.Leapt(), w.now()), false)
		w.store.Advance(w.settings.StuckAfter + time.Minute)
		equal(w, "steady in time", w.ledger().Passes.Steady(lookups.Leapt(), w.now()), true)
		equal(w, "alerted in time", w.postpone().Alert, true)
	}},
	{"what a leap adds to an age does not give up an effect, an item or a result [S4]", func(w *world) {
		w.settings.MaxAttempts, w.settings.RetryFor = 2, 24*time.Hour
		w.succeed()
		w.store.Advance(w.release(w.granted(publish), 0))
		w.leap(3 * day)
		failure := w.fail(time.Hour)
		equal(w, "dead at once", failure.Dead, false)
		equal(w, "alerted at once", failure.Alert, false)
		w.store.Advance(day)
		equal(w, "dead in time", w.fail(0).Dead, true)

		w.name = nameOf(w, "batches/lost")
		w.succeed()
		w.unread(true)
		w.leap(3 * day)
		equal(w, "lost at once", w.unread(true), false)
		w.store.Advance(day)
		equal(w, "lost in time", w.unread(true), true)

		w.name = nameOf(w, "batches/items")
		w.succeed()
		lease := w.granted(publish)
		fails := func(at ledger.ItemProgress, outcomes ...ledger.ItemOutcome) ledger.ItemProgress {
			outcomes[0].Err = errFailed
			return w.recordItems(lease, at, outcomes)
		}
		at := fails(lease.Progress, named(0, "a")...)
		w.leap(3 * day)
		at = fails(at, known(named(0, "a")...)...)
		equal(w, "given up at once", at.Failed, 0)
		w.store.Advance(day)
		equal(w, "given up in time", fails(at, known(named(0, "a")...)...).Failed, 1)
	}},
	{"nothing is missing until the clock has run for that long [R4]", func(w *world) {
		w.paged()
		w.register()
		w.note(ledger.ConditionNotFound)
		w.leap(8 * time.Hour)
		if n := w.note(ledger.ConditionNotFound); n.Missing || n.Alert {
			w.Errorf("at once: %+v", n)
		}
		w.store.Advance(missingAfter * w.settings.Interval)
		equal(w, "alerted in time", w.note(ledger.ConditionNotFound).Alert, true)
	}},
	{"the mark of a pass whose clock was ahead is over [R6]", func(w *world) {
		w.register()
		w.store.Advance(5 * time.Hour)
		w.leap(8 * time.Hour)
		lookups, err := w.ledger().Passes.Begin(w.ctx, time.Minute)
		if err != nil {
			w.Fatal(err)
		}
		page := w.dueOperations().Items
		if err := lookups.Prepare(w.ctx, page, true); err != nil {
			w.Fatal(err)
		}
		if _, err := lookups.Claim(w.ctx, page[0]); err != nil { // and dies
			w.Fatal(err)
		}
		w.leap(-8 * time.Hour)
		w.bringBack(1)
		next, err := w.ledger().Passes.Begin(w.ctx, time.Minute)
		if err != nil {
			w.Fatal(err)
		}
		if errs := next.Recover(w.ctx); len(errs) > 0 {
			w.Error(errs)
		}
		if err := next.End(w.ctx); err != nil {
			w.Fatal(err)
		}
		equal(w, "marks", len(read[ledger.Marks](w, "passes/lookups").Marks), 0)
		equal(w, "due", len(w.dueOperations().Items), 1)
		equal(w, "its state", w.record().State, operation.Pending)
	}},
}
