package ledgertest

import (
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// untimed returns e without a server's time, as a video's look-up has none.
func untimed(e operation.Event) operation.Event {
	e.UpdateTime = time.Time{}
	return e
}

// withheld checks that no effect of the world's operation was planned, and that its record says so.
func (w *world) withheld() {
	w.Helper()
	rec := w.record()
	equal(w, "settled", rec.Settled(), true)
	equal(w, "the effect in the record", rec.Effects[publish], operation.EffectWithheld)
	equal(w, "the effect", w.claim(publish).Verdict, ledger.Absent)
	w.lives("settled", false, w.settings.Retention)
	w.published()
}

// An operation that ended longer ago than the retention when the ledger first hears of it runs no
// effect, unless an intent proves that it was waited for.
var effectPlan = []ledgerTest{
	{"registering what ended longer ago than the retention runs no effect [L3]", func(w *world) {
		w.ingest(w.event("d1", operation.Succeeded, -15*day))
		registered := w.register()
		equal(w, "planned", registered.Planned, 0)
		equal(w, "withheld", registered.Withheld, 1)
		equal(w, "withheld by the same again", w.register().Withheld, 0)
		w.withheld()
	}},
	{"an event about an end longer ago than the retention runs no effect [L3]", func(w *world) {
		w.register() // again: the first record has expired
		r := w.ingest(w.lookup(operation.Succeeded, -15*day))
		equal(w, "outcome", r.Outcome, ledger.Applied)
		equal(w, "planned", r.Planned, 0)
		equal(w, "withheld", r.Withheld, 1)
		w.withheld()
	}},
	{"what nothing is planned for has nothing withheld [L3]", func(w *world) {
		w.register()
		equal(w, "withheld", w.ingest(w.lookup(operation.Cancelled, -15*day)).Withheld, 0)
		equal(w, "effects", len(w.record().Effects), 0)
	}},
	{"without a server's time the time of submission counts [M4, L3]", func(w *world) {
		for name, age := range map[string]time.Duration{"operations/old": 15 * day, "operations/young": 13 * day} {
			w.name = nameOf(w, name)
			r := w.registration()
			r.SubmittedAt = w.start.Add(-age)
			if _, err := w.ledger().Operations.Register(w.ctx, r); err != nil {
				w.Fatal(err)
			}
			receipt := w.ingest(untimed(w.lookup(operation.Succeeded, 0)))
			if age < w.settings.Retention {
				equal(w, "planned", receipt.Planned, 1)
				w.plannedOnce()
				continue
			}
			equal(w, "withheld", receipt.Withheld, 1)
			w.withheld()
		}
	}},
	{"a video that is registered again after everything expired runs nothing again [M4, L3]", func(w *world) {
		w.name = nameOf(w, "models/veo/operations/9p5ug42emn2z")
		w.register()
		end := untimed(w.lookup(operation.Succeeded, 0))
		w.ingest(end)
		w.finish(w.granted(publish))
		w.published(publish)
		w.store.Advance(2*w.settings.Retention + day)
		w.delete(ledger.OperationPath(w.name.Key))
		w.delete(ledger.EffectPath(w.name.Key, publish))
		w.register()
		equal(w, "withheld", w.ingest(end).Withheld, 1)
		w.withheld()
	}},
	{"a running video's time is not that of its end: what runs for long runs its effects [M4, L3]", func(w *world) {
		w.register()
		w.store.Advance(30 * day)
		equal(w, "planned", w.ingest(untimed(w.lookup(operation.Succeeded, 0))).Planned, 1)
		w.plannedOnce()
	}},
	{"what Gemini reported unfinished after its registration is not withheld, whatever its submitter said [M4, L3]",
		func(w *world) {
			for _, said := range []time.Time{w.start.Add(-15 * day), w.start.Add(-15 * 365 * day)} {
				w.name = nameOf(w, fmt.Sprintf("models/veo/operations/%d", said.Unix()))
				r := w.registration()
				r.SubmittedAt = said
				if _, err := w.ledger().Operations.Register(w.ctx, r); err != nil {
					w.Fatal(err)
				}
				equal(w, "running", w.ingest(untimed(w.lookup(operation.Running, 0))).Outcome, ledger.Applied)
				w.store.Advance(time.Minute)
				equal(w, "withheld", w.ingest(untimed(w.lookup(operation.Succeeded, 0))).Withheld, 0)
				w.plannedOnce()
			}
		}},
	{"a time of submission in 1970 is not given [M4, L3]", func(w *world) {
		r := w.registration()
		r.SubmittedAt = time.Unix(0, 0)
		for range 2 {
			registered, err := w.ledger().Operations.Register(w.ctx, r)
			if err != nil || len(registered.Kept) > 0 {
				w.Fatalf("%+v, %v", registered, err)
			}
			near(w, "submitted", registered.Record.SubmittedAt.Sub(w.start), 0)
		}
		equal(w, "planned", w.ingest(untimed(w.lookup(operation.Succeeded, 0))).Planned, 1)
		w.plannedOnce()
	}},
	{"a DONE effect counts as done, not withheld [L3, S7]", func(w *world) {
		w.succeed()
		w.finish(w.granted(publish))
		w.published(publish)
		w.delete(ledger.OperationPath(w.name.Key))
		w.store.Advance(w.settings.Retention + day)
		w.register()
		r := w.ingest(w.lookup(operation.Succeeded, time.Second))
		equal(w, "withheld", r.Withheld, 0)
		equal(w, "planned", r.Planned, 0)
		equal(w, "the effect in the record", w.record().Effects[publish], operation.EffectDone)
		w.published()
	}},
	{"an operator's message runs what was withheld [G5, L3]", func(w *world) {
		w.register()
		w.ingest(w.lookup(operation.Succeeded, -15*day))
		w.withheld()
		equal(w, "replayed", w.replay(w.asked(publish, "m1")).Outcome, ledger.PlannedLate)
		equal(w, "the effect in the record", w.record().Effects[publish], operation.EffectOpen)
		w.lives("replayed", false, 0)
		w.finish(w.granted(publish))
		w.lives("done", false, w.settings.Retention)
	}},
	{"an intent that waited all the time runs its effects, however late it is bound by an event [G6, L3]", func(w *world) {
		w.intend("i-1")
		w.store.Advance(w.settings.Retention + day)
		r := w.ingest(w.intended("d1", "i-1", operation.Succeeded, time.Hour))
		if !r.Bound || r.Withheld != 0 || r.Planned != 1 {
			w.Errorf("%+v", r)
		}
		w.boundTo("i-1")
		w.plannedOnce()
	}},
	{"… or by a registration [G6, L3]", func(w *world) {
		w.intend("i-1")
		w.store.Advance(w.settings.Retention + day)
		w.ingest(w.event("d1", operation.Succeeded, time.Hour))
		again := ledger.Registration{
			Name: w.name, Submission: operation.Submission{CorrelationID: "i-1"}, SubmittedAt: w.start,
		}
		registered, err := w.ledger().Operations.Register(w.ctx, again)
		if err != nil || registered.Planned != 1 || registered.Withheld != 0 {
			w.Errorf("%+v, %v", registered, err)
		}
		w.plannedOnce()
	}},
	{"… also after it was given up, and of what has no server's time [G6, M4, L3]", func(w *world) {
		w.intend("i-1")
		w.store.Advance(w.settings.StuckAfter + time.Second)
		w.giveUp()
		w.store.Advance(w.settings.Retention + day)
		e := untimed(w.intended("d1", "i-1", operation.Succeeded, 0))
		equal(w, "planned", w.ingest(e).Planned, 1)
		w.boundTo("i-1")
		w.plannedOnce()
	}},
	{"an intent that was renewed before the end counts as recorded then [G6, L3]", func(w *world) {
		w.intend("i-1")
		w.store.Advance(day)
		w.renewed("i-1")
		w.store.Advance(w.settings.Retention + day)
		equal(w, "planned", w.ingest(w.intended("d1", "i-1", operation.Succeeded, day+time.Hour)).Planned, 1)
		w.plannedOnce()
	}},
	{"an id that is used again after everything expired repeats nothing [L3]", func(w *world) {
		for _, renewed := range []bool{false, true} {
			w.name = nameOf(w, map[bool]string{false: "batches/recorded", true: "batches/renewed"}[renewed])
			id, end := string(w.name.Key), w.now().Sub(w.start)+time.Hour
			if renewed {
				w.intend(id)
			}
			w.store.Advance(2*w.settings.Retention + day)
			if renewed {
				w.renewed(id)
			} else {
				w.intend(id)
			}
			r := w.ingest(w.intended("d1", id, operation.Succeeded, end))
			if !r.Bound || r.Withheld != 1 || r.Planned != 0 {
				w.Errorf("%+v", r)
			}
			w.withheld()
		}
	}},
}
