package ledgertest

import (
	"errors"
	"reflect"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// resolve resolves the two ends of the world's operation as they are in a record.
func (w *world) resolve(seen operation.Record) (operation.Resolution, error) {
	return w.ledger().Operations.ResolveConflict(w.ctx, seen, givingUp)
}

// contradicted ends the world's operation, and then otherwise.
func (w *world) contradicted() operation.Record {
	w.Helper()
	w.succeed()
	equal(w, "another end", w.ingest(w.event("d2", operation.Failed, time.Hour)).Outcome, ledger.Conflict)
	return w.record()
}

// resolved checks whether an operator is still needed for the operation's ends.
func (w *world) resolved(is bool) {
	w.Helper()
	rec := w.record()
	equal(w, "resolved", rec.Resolved(), is)
	equal(w, "in conflict", rec.Conflicted(), !is)
	equal(w, "state", rec.State, operation.Succeeded)
	equal(w, "listed", len(w.list(ledger.Filter{Conflict: true})) == 0, is)
}

var operationResolve = []ledgerTest{
	{"only two ends are resolved, and with a reason [M5]", func(w *world) {
		_, err := w.resolve(operation.Record{Key: w.name.Key})
		equal(w, "absent", errors.Is(err, ledger.ErrNotFound), true)
		w.succeed()
		_, err = w.resolve(w.record())
		equal(w, "one end", errors.Is(err, ledger.ErrNoConflict), true)
		w.ingest(w.event("d2", operation.Failed, time.Hour))
		_, err = w.ledger().Operations.ResolveConflict(w.ctx, w.record(), ledger.Decision{By: "ops"})
		equal(w, "without a reason", errors.Is(err, ledger.ErrNoReason), true)
		w.resolved(false)
	}},
	{"a resolved conflict that is reported again is dropped [M5]", func(w *world) {
		seen := w.contradicted()
		first, err := w.resolve(seen)
		equal(w, "resolved", err, nil)
		equal(w, "stands", first.Stands, operation.Succeeded)
		equal(w, "why", first.Why, givingUp.Why)
		near(w, "resolved", first.At.Sub(w.now()), 0)
		w.store.Advance(time.Minute)
		again, err := w.ledger().Operations.ResolveConflict(w.ctx, seen, ledger.Decision{By: "another", Why: "other"})
		equal(w, "again", err, nil)
		equal(w, "the first stands", again, first)
		w.resolved(true)
		before := w.record()
		for _, e := range []operation.Event{
			w.event("d3", operation.Failed, 2*time.Hour), w.lookup(operation.Failed, 3*time.Hour),
		} {
			r := w.ingest(e)
			equal(w, "the same end", r.Outcome, ledger.Dropped)
			equal(w, "reason", r.Reason, operation.TerminalConflict)
			equal(w, "nothing changes", reflect.DeepEqual(w.record(), before), true)
		}
		equal(w, "the alarm", w.claim(alarm).Verdict, ledger.Absent)
		w.published(publish)
	}},
	{"an end that the operator has not seen is not resolved [M5]", func(w *world) {
		seen := w.contradicted()
		w.store.Advance(time.Minute)
		for _, e := range []operation.Event{ // the second time FAILED stands beside the end again, as it was seen
			w.event("d3", operation.Expired, 2*time.Hour), w.event("d4", operation.Failed, 3*time.Hour),
		} {
			w.ingest(e)
			_, err := w.resolve(seen)
			equal(w, "refused after "+string(e.State), errors.Is(err, ledger.ErrEndsChanged), true)
			w.resolved(false)
			w.store.Advance(time.Minute)
		}
		_, err := w.resolve(w.record())
		equal(w, "seen", err, nil)
		w.resolved(true)
	}},
	{"a further end is a conflict, and erases no decision [M5]", func(w *world) {
		seen := w.contradicted()
		first, err := w.resolve(seen)
		equal(w, "resolved", err, nil)
		equal(w, "a further end", w.ingest(w.event("d3", operation.Expired, 2*time.Hour)).Outcome, ledger.Conflict)
		w.resolved(false)
		equal(w, "the first again", w.ingest(w.event("d4", operation.Failed, 3*time.Hour)).Outcome, ledger.Dropped)
		w.resolved(false)
		equal(w, "the further end stays", w.record().ConflictState, operation.Expired)
		kept, is := w.record().Resolution(operation.Failed)
		equal(w, "the first decision counts", is, true)
		equal(w, "the first decision", kept, first)
		again, err := w.resolve(seen) // whose answer was lost
		equal(w, "the first call again", err, nil)
		equal(w, "the first decision again", again, first)
		w.resolved(false)
		_, err = w.resolve(w.record())
		equal(w, "the further resolved", err, nil)
		w.resolved(true)
		for _, other := range []operation.State{operation.Failed, operation.Expired} {
			equal(w, string(other), w.ingest(w.event("e-"+string(other), other, 4*time.Hour)).Outcome, ledger.Dropped)
		}
	}},
	{"a decision counts for no other two ends, whatever an older revision writes [M5, L5]", func(w *world) {
		_, err := w.resolve(w.contradicted())
		equal(w, "resolved", err, nil)
		decided := w.record()
		plant := func(rec operation.Record) {
			w.delete(ledger.OperationPath(w.name.Key))
			w.plant(ledger.OperationPath(w.name.Key), rec)
		}
		again := decided // an older revision refuses the same end once more
		again.ConflictAt = w.now()
		plant(again)
		w.resolved(true)
		moved := decided // it applies that end: the settings allow the move
		moved.State, moved.ConflictAt, moved.ConflictState, moved.ConflictBy = operation.Failed, time.Time{}, "", ""
		plant(moved)
		equal(w, "resolved without a conflict", w.record().Resolved(), false)
		equal(w, "a conflict", w.record().Conflicted(), false)
		equal(w, "the other way", w.ingest(w.event("d3", operation.Succeeded, 2*time.Hour)).Outcome, ledger.Conflict)
		equal(w, "in conflict", w.record().Conflicted(), true)
		moved.State = operation.Expired // a further move: FAILED is refused beside another end
		plant(moved)
		equal(w, "beside another", w.ingest(w.event("d4", operation.Failed, 3*time.Hour)).Outcome, ledger.Conflict)
		equal(w, "in conflict beside another", w.record().Conflicted(), true)
	}},
}
