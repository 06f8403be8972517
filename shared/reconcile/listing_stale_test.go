package reconcile_test

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestStaleRows: batches whose rows in Gemini's list keep saying that they run are asked for by name at
// every twelfth look-up, so that an end is found an hour later at most while look-ups are not widened
// [R6].
func TestStaleRows(t *testing.T) {
	t.Parallel()
	const n = 12
	w := newWorldWith(t, setting{sim: geminisim.Config{Faults: geminisim.Faults{StaleRows: 1}}})
	names := w.manyBatches(n)
	w.clock.Advance(grace)
	for range 12 {
		w.passWith(reconcile.Options{})
		w.clock.Advance(interval)
	}
	if st := w.sim.Stats(); st.BatchGets != n || st.BatchLists != 12 {
		t.Errorf("R6: %d gets and %d lists in twelve intervals, want %d and 12", st.BatchGets, st.BatchLists, n)
	}
	w.endAll(names, geminisim.StateSucceeded)
	settled := 0
	for range 12 {
		settled += w.passWith(reconcile.Options{}).Settled
		w.clock.Advance(interval)
	}
	if settled != n {
		t.Errorf("R6: %d of %d batches are settled twelve intervals after their end", settled, n)
	}
}

// TestAskedBeforeTheAlert: an operation that is to be alerted as stuck is asked for by name first, and
// is not alerted where it has ended. One that has not is alerted as ever [R4].
func TestAskedBeforeTheAlert(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, setting{alerts: true, sim: geminisim.Config{Faults: geminisim.Faults{StaleRows: 1}}})
	ended, running := w.manyBatches(12), w.register("long", geminisim.StateRunning)
	w.endAll(ended, geminisim.StateSucceeded)
	w.clock.Advance(48 * time.Hour) // without a pass
	if got := w.passWith(reconcile.Options{}); got.Settled != 12 || got.Checked != 13 || got.Stuck != 1 {
		t.Errorf("R4: %+v", got)
	}
	for _, m := range w.outbox.Drain() {
		if alert := m.Effect != "publish"; alert != (m.Operation == running.Key) {
			t.Errorf("R4: %s of %s", m.Effect, m.Operation)
		}
	}
	if rec := w.record(ended[0]); rec.State != operation.Succeeded || rec.LookUps != 1 || !rec.AlertedAt.IsZero() {
		t.Errorf("R4: %+v", rec)
	}
	if got := w.record(running).Effects; len(got) != 1 {
		t.Errorf("R4: %v", got)
	}
}
