package ledgertest

import (
	"errors"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// cancelling is what the operators of these tests decide.
var cancelling = ledger.Decision{By: "operator", Why: "the prompt was wrong"}

// requestCancel records that the world's operation is to be cancelled, which must succeed.
func (w *world) requestCancel() operation.Decided {
	w.Helper()
	stands, err := w.ledger().Operations.RequestCancel(w.ctx, w.name.Key, cancelling)
	if err != nil {
		w.Fatalf("RequestCancel: %v", err)
	}
	return stands
}

var operationCancel = join([]ledgerTest{
	{"a request to cancel changes no state, and the completion counts [M7]", func(w *world) {
		w.register()
		before := w.record()
		stands := w.requestCancel()
		equal(w, "who", stands.By+": "+stands.Why, cancelling.By+": "+cancelling.Why)
		equal(w, "state", w.record().State, before.State)
		equal(w, "outcome", w.ingest(w.event("d1", operation.Succeeded, time.Second)).Outcome, ledger.Applied)
		w.plannedOnce()
		equal(w, "why is kept", w.record().CancelRequested.Why, cancelling.Why)
	}},
	{"the first request to cancel stands", func(w *world) {
		w.register()
		first := w.requestCancel()
		w.store.Advance(day)
		second, err := w.ledger().Operations.RequestCancel(w.ctx, w.name.Key, ledger.Decision{By: "another", Why: "other"})
		if err != nil || second.Why != first.Why || !second.At.Equal(first.At) {
			w.Errorf("%+v, then %+v, %v", first, second, err)
		}
	}},
	{"what is to be cancelled is looked up within an interval, and never more rarely [R6]", func(w *world) {
		w.quiet()
		w.running(30 * day)
		k, due := w.moved()
		w.waits(k, time.Hour)
		k.Conclude(due.Record.Key)
		w.requestCancel()
		w.waits(k, w.settings.Interval)
		k, _ = w.moved()
		w.waits(k, w.settings.Interval)
	}},
	{"what is due sooner is not put off by a request to cancel [R6]", func(w *world) {
		w.register()
		w.store.Advance(w.record().DueAt.Sub(w.now()))
		due := w.record().DueAt
		w.requestCancel()
		equal(w, "due", w.record().DueAt, due)
	}},
	{"an abandoned or unregistered operation that is to be cancelled is not looked up [R4, W5]", func(w *world) {
		w.register()
		w.abandon()
		w.requestCancel()
		equal(w, "due", w.record().DueAt.IsZero(), true)
		w.name = nameOf(w, "batches/stranger")
		w.ingest(w.event("d1", operation.Running, time.Second))
		w.requestCancel()
		equal(w, "due", w.record().DueAt.IsZero(), true)
	}},
	{"what cannot be cancelled", func(w *world) {
		check := func(what string, d ledger.Decision, want error) {
			w.Helper()
			if _, err := w.ledger().Operations.RequestCancel(w.ctx, w.name.Key, d); !errors.Is(err, want) {
				w.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		check("not there", cancelling, ledger.ErrNotFound)
		w.register()
		check("without a reason", ledger.Decision{By: "me"}, ledger.ErrNoReason)
		w.succeed()
		check("ended", cancelling, ledger.ErrSettled)
	}},
}, lostly("RequestCancel: once", func(w *world, l *ledger.Ledger) {
	w.register()
	if _, err := l.Operations.RequestCancel(w.ctx, w.name.Key, cancelling); err != nil {
		w.Errorf("RequestCancel: %v", err)
	}
	equal(w, "version", w.record().Version, 2)
}))
