package firestore_test

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness/meter"
)

// TestWhatALookUpCosts pins what a pass asks of Firestore where nothing has changed: for each
// operation one read, as the query finds it, and one write in two requests at most. The query, the
// mark and its end are shared by a page of a hundred. test/load/README.md states it [L4].
func TestWhatALookUpCosts(t *testing.T) {
	t.Parallel()
	const pending = 20
	var m meter.Meter
	l := newLedger(t, opened(t, m.Dial()...), &outbox{})
	running := make(map[operation.Key]operation.Event, pending)
	for i := range pending {
		r := ledger.Registration{Name: nameOf(i), SubmittedAt: time.Now().Add(-5 * time.Hour)} // not stuck yet
		if _, err := l.Operations.Register(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		e := operation.Event{
			Name: nameOf(i), DeliveryID: "reconcile-1", Source: operation.Reconcile, State: operation.Running, UpdateTime: today,
		}
		running[e.Key] = e
		if _, err := l.Operations.Ingest(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	m.Collect()
	costs := func(what string, requests, reads, writes int) {
		t.Helper()
		if got := m.Collect(); got.Requests() > requests || got.Reads != reads || got.Writes != writes {
			t.Errorf("%s cost %d requests, %d reads and %d writes, want at most %d, %d and %d (%v)",
				what, got.Requests(), got.Reads, got.Writes, requests, reads, writes, got.RPCs)
		} else {
			t.Logf("%s cost %d requests, %d reads and %d writes", what, got.Requests(), got.Reads, got.Writes)
		}
	}
	lookups, err := l.Passes.Begin(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	costs("the beginning", 1, 1, 0) // a read of a document that is not there, and of the time
	page, err := l.Operations.Due(t.Context(), lookups.Start(), ledger.Cursor{}, 100)
	if err != nil || len(page.Items) != pending {
		t.Fatalf("%d are due, %v", len(page.Items), err)
	}
	costs("the query", 1, pending, 0)
	if err := lookups.Prepare(t.Context(), page.Items, true); err != nil {
		t.Fatal(err)
	}
	costs("the mark", 2, 0, 1)
	for _, due := range page.Items {
		p, err := lookups.Claim(t.Context(), due)
		if err != nil {
			t.Fatal(err)
		}
		r, err := l.Operations.IngestAnswer(t.Context(), p.Operation, running[due.Record.Key])
		if err != nil || r.Outcome != ledger.Dropped {
			t.Fatalf("%+v, %v", r, err)
		}
		lookups.Conclude(due.Record.Key)
	}
	costs("the look-ups", 2*pending, 0, pending)
	if err := lookups.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	costs("the end of the mark", 2, 0, 1) // a delete, which has a price of its own
}
