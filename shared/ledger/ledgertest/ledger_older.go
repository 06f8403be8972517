package ledgertest

import (
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// older changes a document as an older revision does: it knows the fields of data, and keeps the
// others as they are.
func (w *world) older(path ledger.Path, data any) {
	w.Helper()
	rewrite(w.T, w.store.Store.(*Checked).Store, path, data)
}

// An olderRecord has what an older revision changes in a record that is no longer waited for.
type olderRecord struct {
	Registered bool               `json:"registered" firestore:"registered"`
	State      operation.State    `json:"state" firestore:"state"`
	Abandoned  *operation.Decided `json:"abandoned,omitempty" firestore:"abandoned,omitempty"`
	DueAt      time.Time          `json:"dueAt,omitzero" firestore:"dueAt,omitempty"`
}

// An olderEffect has what an older revision changes in an effect that ends or is reopened.
type olderEffect struct {
	State   ledger.EffectState `json:"state" firestore:"state"`
	Failing *ledger.Failing    `json:"failing,omitempty" firestore:"failing,omitempty"`
}

// failedOnce lets the publish effect of an operation of this name fail once.
func (w *world) failedOnce(name string) {
	w.Helper()
	w.name = nameOf(w, name)
	w.succeed()
	w.release(w.granted(publish), 0)
	w.store.Advance(time.Minute)
}

// ledgerOlder: what an older revision writes leaves derived fields as they were. They are derived
// again where they are read, and hide nothing behind them [L5].
var ledgerOlder = []ledgerTest{
	{"an operation that an older revision settled or abandoned is not late [L5, R4]", func(w *world) {
		for i := range 4 {
			w.name = nameOf(w, fmt.Sprintf("batches/n%d", i))
			w.register()
			w.store.Advance(time.Minute)
		}
		path := func(n int) ledger.Path { return ledger.OperationPath(operation.Key(fmt.Sprintf("batches/n%d", n))) }
		w.older(path(0), olderRecord{Registered: true, State: operation.Succeeded})
		w.older(path(1), olderRecord{
			Registered: true, State: operation.Pending, Abandoned: &operation.Decided{At: w.start, By: "me", Why: "x"},
		})
		w.store.Advance(w.settings.StuckAfter)
		f := ledger.Filter{Late: w.now(), Limit: 1}
		page, err := w.ledger().Operations.List(w.ctx, f)
		if err != nil || len(page.Items) != 1 || page.Items[0].Key != "batches/n2" {
			w.Errorf("the first page: %+v, %v", page, err)
		}
		equal(w, "late", fmt.Sprint(w.list(f)), "[batches/n2 batches/n3]")
		w.counted(f, 3) // at most: no index knows what was abandoned
		w.name = nameOf(w, "batches/n0")
		equal(w, "as it is read", w.record().LateAt.IsZero(), false)
		read, err := w.ledger().Operations.Read(w.ctx, "batches/n0")
		equal(w, "as the ledger reads it", fmt.Sprint(read.LateAt.IsZero(), err), "true <nil>")
	}},
	{"an operation that an older revision registered is not unregistered [L5, W5]", func(w *world) {
		for i := range 3 {
			w.name = nameOf(w, fmt.Sprintf("batches/n%d", i))
			w.ingest(w.event("d1", operation.Succeeded, time.Second))
			w.store.Advance(time.Minute)
		}
		w.older(ledger.OperationPath("batches/n2"), olderRecord{Registered: true, State: operation.Succeeded})
		f := ledger.Filter{Unregistered: w.now()}
		equal(w, "unregistered", fmt.Sprint(w.list(f)), "[batches/n1 batches/n0]")
		w.counted(f, 2)
	}},
	{"an effect that an older revision finished or reopened does not fail, and hides no other [L5, S4]", func(w *world) {
		for _, name := range []string{"batches/done", "batches/reopened", "batches/fails"} {
			w.failedOnce(name)
		}
		path := ledger.EffectPath("batches/done", publish)
		failing := &ledger.Failing{Since: w.start, Last: w.start, Times: 1}
		w.older(path, olderEffect{State: ledger.EffectDone, Failing: failing})
		w.older(ledger.EffectPath("batches/reopened", publish), olderEffect{State: ledger.EffectPending})
		page, err := w.ledger().Effects.Failing(w.ctx, w.now(), ledger.Cursor{}, 1)
		if err != nil || len(page.Items) != 1 || page.Items[0].Operation != "batches/fails" {
			w.Errorf("%+v, %v", page, err)
		}
		count := func(want int) {
			w.Helper()
			total, err := w.ledger().Effects.CountFailing(w.ctx, w.now())
			equal(w, "counted", fmt.Sprint(total, err), fmt.Sprint(want, " <nil>"))
		}
		count(2) // at most: no index knows what was reopened
		w.name = nameOf(w, "batches/reopened")
		w.store.Advance(time.Hour)
		w.granted(publish)
		count(1)
	}},
	{"an effect that failed again under an older revision fails since then, and not for longer [L5, S4]", func(w *world) {
		w.failedOnce("batches/again")
		w.store.Advance(time.Hour)
		again := &ledger.Failing{Since: w.now(), Last: w.now(), Times: 1}
		w.older(ledger.EffectPath("batches/again", publish), olderEffect{State: ledger.EffectPending, Failing: again})
		for before, want := range map[time.Time]int{w.now().Add(-time.Minute): 0, w.now(): 1} {
			page, err := w.ledger().Effects.Failing(w.ctx, before, ledger.Cursor{}, 1)
			if err != nil || len(page.Items) != want {
				w.Errorf("since %v: %+v, %v; want %d", before, page, err, want)
			}
		}
	}},
	{"a body that an older revision ingested needs no operator, and hides no other [L5, W6]", func(w *world) {
		for _, id := range []string{"d1", "d2", "d3"} {
			w.keep(suspect(id))
			w.store.Advance(time.Minute)
		}
		w.older("quarantine/d3", struct {
			Outcome ledger.Outcome `json:"outcome" firestore:"outcome"`
		}{ledger.Applied})
		f := ledger.QuarantineFilter{Unresolved: true, Limit: 1}
		page, err := w.ledger().Quarantine.List(w.ctx, f)
		if err != nil || len(page.Items) != 1 || page.Items[0].ID != "d2" {
			w.Errorf("%+v, %v", page, err)
		}
		equal(w, "unresolved", fmt.Sprint(w.listQuarantined(f)), "[d2 d1]")
		all, err := w.ledger().Quarantine.List(w.ctx, ledger.QuarantineFilter{Limit: 1})
		if err != nil || len(all.Items) != 1 || !all.Items[0].UnresolvedAt.IsZero() {
			w.Errorf("%+v, %v", all, err)
		}
	}},
}
