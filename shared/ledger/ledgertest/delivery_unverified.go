package ledgertest

import (
	"errors"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// hint reads what a delivery of e would be about.
func (w *world) hint(e operation.Event) ledger.Unverified {
	w.Helper()
	hinted, err := w.ledger().ReadUnverified(w.ctx, e.Name, e.CorrelationID, e.DeliveryID)
	if err != nil {
		w.Fatalf("Hint: %v", err)
	}
	return hinted
}

// hasten hastens the world's operation.
func (w *world) hasten(l *ledger.Ledger) bool {
	w.Helper()
	hastened, err := l.MakeDueNow(w.ctx, w.name.Key)
	if err != nil {
		w.Fatalf("MakeDueNow: %v", err)
	}
	return hastened
}

var deliveryUnverified = join([]ledgerTest{
	{"a hint at what the ledger does not know", func(w *world) {
		hinted := w.hint(w.intended("d1", "i-1", operation.Succeeded, time.Second))
		if hinted.Name != w.name || hinted.Record.Key != "" || hinted.Duplicate {
			w.Errorf("%+v", hinted)
		}
	}},
	{"a hint means what an event would change [K6]", func(w *world) {
		r := w.correlated("c-1")
		r.Name.Resource = "projects/p/locations/us/" + r.Name.Resource
		if _, err := w.ledger().Register(w.ctx, r); err != nil {
			w.Fatal(err)
		}
		w.intend("i-1")
		w.ingest(w.intended("d1", "i-1", operation.Running, time.Second))
		boundByEvent := nameOf(w, "batches/by-event")
		w.intend("i-2")
		e := w.intended("d1", "i-2", operation.Running, time.Second)
		e.Name = boundByEvent
		w.ingest(e)
		for _, id := range []string{"", "c-1", "i-1", "i-2", "nobody's"} {
			for _, raw := range []string{"batches/abc-123", "operations/some-other-form", "batches/by-event", "operations/9p5ug42emn2z"} {
				e := w.intended("d2", id, operation.Running, time.Second)
				e.Name = nameOf(w, raw)
				hinted := w.hint(e)
				counting := Count(w.store)
				if _, err := w.over(counting).ReadUnverified(w.ctx, e.Name, id, "d2"); err != nil || counting.Counts().Commits != 0 || counting.Counts().Gets > 2 {
					w.Errorf("%v, it cost %+v", err, counting.Counts())
				}
				want := e.Name.Key
				if raw == "operations/some-other-form" && id == "c-1" {
					want = w.name.Key
				}
				equal(w, raw+" with "+id, hinted.Name.Key, want)
				equal(w, raw+" disputes with "+id, hinted.Disputed != "", raw == "operations/9p5ug42emn2z" && id == "c-1")
				if want == w.name.Key {
					equal(w, "the name to ask with [K5]", hinted.Name.Resource, r.Name.Resource)
					equal(w, "the record", hinted.Record.Key, want)
				}
			}
		}
	}},
	{"a delivery that was taken in is a duplicate, under either name [W4]", func(w *world) {
		if _, err := w.ledger().Register(w.ctx, w.correlated("c-1")); err != nil {
			w.Fatal(err)
		}
		e := w.renamed("d1", "c-1")
		equal(w, "before", w.hint(e).Duplicate, false)
		w.ingest(e)
		equal(w, "afterwards", w.hint(e).Duplicate, true)
		e.Name = w.name
		equal(w, "under its own name", w.hint(e).Duplicate, true)
		e.DeliveryID = "d2"
		equal(w, "another", w.hint(e).Duplicate, false)
		// A delivery that outlived its record says nothing about the next.
		w.delete(ledger.OperationPath(w.name.Key))
		w.store.Advance(time.Second)
		w.register()
		e.DeliveryID = "d1"
		equal(w, "of a former record", w.hint(e).Duplicate, false)
	}},
	{"a pending operation is due at once, and nothing else of it changes [M7]", func(w *world) {
		w.register()
		before := w.record()
		equal(w, "hastened", w.hasten(w.ledger()), true)
		after := w.record()
		near(w, "due in", after.DueAt.Sub(w.now()), 0)
		if after.DueAt.After(w.now()) {
			w.Error("it is due later than now")
		}
		after.DueAt, after.Version = before.DueAt, before.Version
		equal(w, "the rest", after.State, before.State)
		equal(w, "attempts [R3]", after.Attempts, before.Attempts)
		equal(w, "due to a pass", len(w.dueOperations().Items), 1)
		counting := Count(w.store)
		equal(w, "again", w.hasten(w.over(counting)), false)
		equal(w, "commits of it", counting.Counts().Commits, 0)
	}},
	{"where there is nothing to hasten", func(w *world) {
		if _, err := w.ledger().MakeDueNow(w.ctx, w.name.Key); !errors.Is(err, ledger.ErrNotFound) {
			w.Errorf("no record: %v, want ErrNotFound", err)
		}
		w.ingest(w.event("d1", operation.Running, time.Second))
		equal(w, "unregistered [W5]", w.hasten(w.ledger()), false)
		w.register()
		w.ingest(w.event("d2", operation.Succeeded, time.Second))
		equal(w, "settled", w.hasten(w.ledger()), false)
		w.lives("settled", false, 0)
	}},
}, append(lostly("MakeDueNow: hastened, by this call", func(w *world, l *ledger.Ledger) {
	w.register()
	equal(w, "hastened", w.hasten(l), true)
	equal(w, "version", w.record().Version, 2)
}), both("hasten against the end [M6]", func(w *world) (a, b move, check func()) {
	w.register()
	var hook ledger.Receipt
	return func(l *ledger.Ledger) error { _, err := l.MakeDueNow(w.ctx, w.name.Key); return err },
		w.ingesting(w.event("d1", operation.Succeeded, time.Second), &hook), func() {
			w.lives("settled", false, 0)
			w.plannedOnce()
		}
})...))
