package ledgertest

import (
	"errors"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// unverified reads the operation of an unverified delivery of e.
func (w *world) unverified(e operation.Event) ledger.Unverified {
	w.Helper()
	found, err := w.ledger().Operations.ReadUnverified(w.ctx, e.Name, e.CorrelationID, e.DeliveryID)
	if err != nil {
		w.Fatalf("ReadUnverified: %v", err)
	}
	return found
}

// makeDueNow makes the world's operation due.
func (w *world) makeDueNow(l *ledger.Ledger) bool {
	w.Helper()
	made, err := l.Operations.MakeDueNow(w.ctx, w.name.Key)
	if err != nil {
		w.Fatalf("MakeDueNow: %v", err)
	}
	return made
}

var deliveryUnverified = join([]ledgerTest{
	{"an unverified delivery about an unknown operation", func(w *world) {
		found := w.unverified(w.intended("d1", "i-1", operation.Succeeded, time.Second))
		if found.Name != w.name || found.Record.Key != "" || found.Duplicate {
			w.Errorf("%+v", found)
		}
	}},
	{"an unverified delivery is about what an event would change [K6]", func(w *world) {
		r := w.correlated("c-1")
		r.Name.Resource = "projects/p/locations/us/" + r.Name.Resource
		if _, err := w.ledger().Operations.Register(w.ctx, r); err != nil {
			w.Fatal(err)
		}
		w.intend("i-1")
		w.ingest(w.intended("d1", "i-1", operation.Running, time.Second))
		boundByEvent := nameOf(w, "batches/by-event")
		w.intend("i-2")
		e := w.intended("d1", "i-2", operation.Running, time.Second)
		e.Name = boundByEvent
		w.ingest(e)
		for _, id := range []string{"", "c-1", "i-1", "i-2", "unknown"} {
			for _, raw := range []string{
				"batches/abc-123", "operations/some-other-form", "batches/by-event", "operations/9p5ug42emn2z",
			} {
				e := w.intended("d2", id, operation.Running, time.Second)
				e.Name = nameOf(w, raw)
				found := w.unverified(e)
				counting := Count(w.store)
				if _, err := w.over(counting).Operations.ReadUnverified(w.ctx, e.Name, id, "d2"); err != nil ||
					counting.Counts().Commits != 0 || counting.Counts().Gets > 2 {
					w.Errorf("%v, it cost %+v", err, counting.Counts())
				}
				want := e.Name.Key
				if raw == "operations/some-other-form" && id == "c-1" {
					want = w.name.Key
				}
				equal(w, raw+" with "+id, found.Name.Key, want)
				equal(w, raw+" disputes with "+id, found.Disputed != "", raw == "operations/9p5ug42emn2z" && id == "c-1")
				if want == w.name.Key {
					equal(w, "the name to ask with [K5]", found.Name.Resource, r.Name.Resource)
					equal(w, "the record", found.Record.Key, want)
				}
			}
		}
	}},
	{"a delivery that was ingested is a duplicate, under either name [W4]", func(w *world) {
		if _, err := w.ledger().Operations.Register(w.ctx, w.correlated("c-1")); err != nil {
			w.Fatal(err)
		}
		e := w.renamed("d1", "c-1")
		equal(w, "before", w.unverified(e).Duplicate, false)
		w.ingest(e)
		equal(w, "afterwards", w.unverified(e).Duplicate, true)
		e.Name = w.name
		equal(w, "under its own name", w.unverified(e).Duplicate, true)
		e.DeliveryID = "d2"
		equal(w, "another", w.unverified(e).Duplicate, false)
		// A delivery that outlived its record does not count for the next record.
		w.delete(ledger.OperationPath(w.name.Key))
		w.store.Advance(time.Second)
		w.register()
		e.DeliveryID = "d1"
		equal(w, "of a former record", w.unverified(e).Duplicate, false)
	}},
	{"a pending operation is due at once, and nothing else of it changes [M7]", func(w *world) {
		w.register()
		before := w.record()
		equal(w, "made", w.makeDueNow(w.ledger()), true)
		after := w.record()
		near(w, "due in", after.DueAt.Sub(w.now()), 0)
		if after.DueAt.After(w.now()) {
			w.Error("it is due later than now")
		}
		after.DueAt, after.Version = before.DueAt, before.Version
		equal(w, "the rest", after.State, before.State)
		equal(w, "attempts [R3]", after.LookUps, before.LookUps)
		equal(w, "due to a pass", len(w.dueOperations().Items), 1)
		counting := Count(w.store)
		equal(w, "again", w.makeDueNow(w.over(counting)), false)
		equal(w, "commits of it", counting.Counts().Commits, 0)
	}},
	{"where nothing can be made due", func(w *world) {
		if _, err := w.ledger().Operations.MakeDueNow(w.ctx, w.name.Key); !errors.Is(err, ledger.ErrNotFound) {
			w.Errorf("no record: %v, want ErrNotFound", err)
		}
		w.ingest(w.event("d1", operation.Running, time.Second))
		equal(w, "unregistered [W5]", w.makeDueNow(w.ledger()), false)
		w.register()
		w.ingest(w.event("d2", operation.Succeeded, time.Second))
		equal(w, "settled", w.makeDueNow(w.ledger()), false)
		w.lives("settled", false, 0)
	}},
}, append(lostly("MakeDueNow: due, by this call", func(w *world, l *ledger.Ledger) {
	w.register()
	equal(w, "made", w.makeDueNow(l), true)
	equal(w, "version", w.record().Version, 2)
}), both("MakeDueNow against the end [M6]", func(w *world) (a, b move, check func()) {
	w.register()
	var hook ledger.Receipt
	return func(l *ledger.Ledger) error { _, err := l.Operations.MakeDueNow(w.ctx, w.name.Key); return err },
		w.ingesting(w.event("d1", operation.Succeeded, time.Second), &hook), func() {
			w.lives("settled", false, 0)
			w.plannedOnce()
		}
})...))
