package ledgertest

import (
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// missingAfter is for how many intervals Gemini must not find an operation before that alerts.
const missingAfter = 12

// noting is a move that records a condition of the world's operation and keeps the result in n.
func (w *world) noting(condition ledger.Condition, n *ledger.Recorded) move {
	return func(l *ledger.Ledger) (err error) {
		*n, err = l.Operations.RecordCondition(w.ctx, w.name.Key, condition)
		return err
	}
}

// note records a condition of the world's operation.
func (w *world) note(condition ledger.Condition) (n ledger.Recorded) {
	w.Helper()
	if err := w.noting(condition, &n)(w.ledger()); err != nil {
		w.Fatalf("RecordCondition %s: %v", condition, err)
	}
	return n
}

// missing registers the world's operation, which is not found for so long that the next look-up
// alerts.
func (w *world) missing() {
	w.Helper()
	w.paged()
	w.register()
	w.note(ledger.ConditionNotFound)
	w.store.Advance(missingAfter * w.settings.Interval)
}

var operationCondition = []ledgerTest{
	{"a condition is written when it changes, and cleared once [R4, M7]", func(w *world) {
		w.register()
		counting := Count(w.store)
		l := w.over(counting)
		for _, step := range []struct {
			condition ledger.Condition
			commits   int
		}{
			{"", 0}, {"rate-limited", 1}, {"rate-limited", 0}, {"not-found", 1}, {"not-found", 0}, {"rate-limited", 1},
			{"", 1}, {"", 0},
		} {
			counting.Reset()
			w.store.Advance(time.Minute)
			if _, err := l.Operations.RecordCondition(w.ctx, w.name.Key, step.condition); err != nil {
				w.Fatal(err)
			}
			equal(w, "commits of "+string(step.condition), counting.Counts().Commits, step.commits)
			equal(w, "documents read", counting.Counts().Read, 1)
			rec := w.record()
			equal(w, "condition", rec.Condition, string(step.condition))
			if step.commits > 0 && step.condition != "" {
				near(w, "since", w.now().Sub(rec.ConditionSince), 0)
			}
			equal(w, "state", rec.State, operation.Pending)
		}
		w.lives("after some conditions", true, 0)
	}},
	{"an event ends the condition [R4, R2]", func(w *world) {
		w.register()
		w.note(ledger.ConditionNotFound)
		w.ingest(w.event("d1", operation.Running, time.Second))
		equal(w, "its condition", w.record().HasCondition(), false)
		w.note(ledger.ConditionNotFound)
		w.ingest(w.event("d2", operation.Running, time.Second)) // not newer: dropped
		equal(w, "its condition after a dropped event", w.record().HasCondition(), true)
		w.note("")
		equal(w, "its condition after a known answer", w.record().HasCondition(), false)
	}},
	{"missing alerts after twelve intervals, once in each period, and is no state [R4, M7]", func(w *world) {
		w.paged()
		w.register()
		first := w.note(ledger.ConditionNotFound)
		since := w.record().MissingSince
		w.store.Advance(missingAfter*w.settings.Interval - time.Minute)
		early := w.note(ledger.ConditionNotFound)
		if first.Missing || early.Missing || early.Alert {
			w.Errorf("too early: %+v, then %+v", first, early)
		}
		w.store.Advance(time.Minute)
		// Another condition is no sign of whether the operation exists: it neither alerts nor
		// restarts the count.
		if other := w.note("rate-limited"); other.Missing || other.Alert {
			w.Errorf("another condition: %+v", other)
		}
		n := w.note(ledger.ConditionNotFound)
		if !n.Missing || !n.Alert || n.Planned != 1 {
			w.Errorf("at last: %+v", n)
		}
		w.published("page@missing-1")
		if notice := w.alert("page@missing-1", "missing"); !notice.Since.Equal(since) || notice.Detail == "" {
			w.Errorf("the notice: %+v, missing since %v", notice, since)
		}
		if again := w.note(ledger.ConditionNotFound); !again.Missing || again.Alert || again.Planned != 0 {
			w.Errorf("again: %+v", again)
		}
		w.store.Advance(w.settings.AlertEvery)
		equal(w, "in the next period", w.note(ledger.ConditionNotFound).Planned, 1)
		w.published("page@missing-2")
		equal(w, "state", w.record().State, operation.Pending)
		w.lives("missing", true, 0)
	}},
	{"an operation that was found again goes missing again [R4]", func(w *world) {
		w.missing()
		equal(w, "planned", w.note(ledger.ConditionNotFound).Planned, 1)
		w.note("")
		w.store.Advance(w.settings.AlertEvery)
		equal(w, "not found again", w.note(ledger.ConditionNotFound).Missing, false)
		w.store.Advance(missingAfter * w.settings.Interval)
		equal(w, "and for long", w.note(ledger.ConditionNotFound).Planned, 1)
		w.published("page@missing-1", "page@missing-2")
	}},
	{"stuck and missing are two alerts [R4]", func(w *world) {
		w.missing()
		equal(w, "missing", w.note(ledger.ConditionNotFound).Planned, 1)
		equal(w, "stuck", w.postpone().Planned, 1)
		w.published("page@missing-1", "page@stuck-1")
		if notice := w.alert("page@stuck-1", "stuck"); notice.Detail == "" {
			w.Errorf("the notice: %+v", notice)
		}
	}},
	{"where no rule lists it, the caller logs missing, once in each period [R4]", func(w *world) {
		w.missing()
		w.settings.Rules = w.settings.Rules[:2]
		if n := w.note(ledger.ConditionNotFound); !n.Alert || n.Planned != 0 {
			w.Errorf("%+v", n)
		}
		equal(w, "again", w.note(ledger.ConditionNotFound).Alert, false)
		w.published()
	}},
	{"an operation that has ended, is unregistered or unknown is left alone [M7, W5]", func(w *world) {
		counting := Count(w.store)
		note := func(what string) {
			for _, condition := range []ledger.Condition{ledger.ConditionNotFound, ""} {
				if n, err := w.over(counting).Operations.RecordCondition(w.ctx, w.name.Key,
					condition); err != nil || n != (ledger.Recorded{}) {
					w.Errorf("%s: %+v, %v", what, n, err)
				}
			}
		}
		note("not there")
		w.ingest(w.event("d1", operation.Running, time.Second))
		note("not registered")
		w.succeed()
		note("ended")
		equal(w, "commits", counting.Counts().Commits, 0)
	}},
	{"the list of pending operations shows the condition [L4, R4]", func(w *world) {
		w.register()
		due, now := w.pass()
		if _, err := w.ledger().Passes.ClaimLookUp(w.ctx, due, now); err != nil {
			w.Fatal(err)
		}
		w.note("rate-limited")
		page, err := w.ledger().Operations.List(w.ctx, ledger.Filter{Pending: true, Limit: 10})
		if err != nil || len(page.Items) != 1 {
			w.Fatalf("%+v, %v", page, err)
		}
		rec := page.Items[0]
		if rec.SubmittedAt.IsZero() || rec.LookUps != 1 || rec.DueAt.IsZero() || rec.Condition != "rate-limited" ||
			rec.ConditionSince.IsZero() {
			w.Errorf("%+v", rec)
		}
	}},
}
