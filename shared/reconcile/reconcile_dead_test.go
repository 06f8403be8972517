package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// ends has n operations settled whose submitter recorded an intent, and their effects done, through the ledger.
func (w *world) ends(round, n int) {
	w.Helper()
	for i := range n {
		id := fmt.Sprintf("c-%d-%d", round, i)
		w.intend(id, ledger.Intention{Collection: operation.Batches})
		name, err := operation.ParseName(fmt.Sprintf("batches/ends-%d-%d", round, i), "")
		if err != nil {
			w.Fatal(err)
		}
		if _, err := w.ledger.Operations.Register(w.Context(), ledger.Registration{
			Name: name, Submission: operation.Submission{CorrelationID: id},
		}); err != nil {
			w.Fatal(err)
		}
		w.deliver(name, "m1", operation.Succeeded)
		w.done(ledger.Message{Operation: name.Key, Effect: "publish"})
	}
}

// TestDeadEntries: in a store that keeps the index entries of what has ended, a pass passes those of the last 20
// minutes, and once an hour all. So its time does not grow with the ledger's age [L4].
func TestDeadEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := ledgertest.KeepDead(w.store)
	w.ledger = w.over(store)
	const (
		passes  = 30                  // two and a half hours
		ended   = 3                   // in each interval
		entries = 4                   // of each: operation, intent, effect that is planned, and claimed
		recent  = 6 * ended * entries // those of scanLag, and of the last pass

	)
	full := 0
	for round := range passes {
		w.ends(round, ended)
		w.clock.Advance(interval)
		store.Passed()
		w.passWith(reconcile.Options{})
		passed := store.Passed()
		if round%12 == 0 {
			full++
			if round > 0 && passed < round*ended*entries {
				t.Errorf("L4: pass %d passed %d entries of %d, want all", round, passed, round*ended*entries)
			}
			continue
		}
		if passed > recent {
			t.Errorf("L4: pass %d passed %d entries of what has ended, want %d at most", round, passed, recent)
		}
	}
	if full != 3 {
		t.Errorf("%d passes read from the beginning, want one an hour", full)
	}
}

// TestFullScan: what an older revision makes due where passes no longer read is looked up within an hour [L4].
func TestFullScan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.registered(w.video("a", geminisim.StateRunning))
	w.clock.Advance(interval)
	w.passWith(reconcile.Options{})
	before := w.clock.Now().Add(-3 * time.Hour)
	w.exec(`UPDATE documents SET due_at = ?, body = json_set(body, '$.dueAt', ?) WHERE path = ?`,
		before.UnixMicro(), before.Format(time.RFC3339), string(ledger.OperationPath(name.Key)))
	asked, passes := w.lookups()[name.Resource], 0
	for w.lookups()[name.Resource] == asked {
		w.clock.Advance(interval)
		w.passWith(reconcile.Options{})
		if passes++; passes > 12 {
			t.Fatal("L4: it was not looked up in an hour")
		}
	}
	if passes == 1 {
		t.Error("L4: the next pass read from the beginning, and this test proves nothing")
	}
}
