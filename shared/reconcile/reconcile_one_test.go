package reconcile_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestOneThatFails: a look-up on demand whose answer cannot be stored, and a sweep that cannot read the
// time, say why.
func TestOneThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.register("a", geminisim.StateSucceeded)
	down := errors.New("the store is down")
	over := func(call string) *reconcile.Reconciler {
		return w.reconciler(w.over(&downStore{Store: w.store, down: call, err: down, calls: map[string]bool{}}))
	}
	ingest := "Commit operations operations/deliveries operations/effects"
	if answer, receipt, err := over(ingest).One(t.Context(), name.Key); !errors.Is(err, down) || !answer.Known() ||
		receipt.Settled {
		t.Errorf("R2: %+v, %+v, %v", answer, receipt, err)
	}
	if got, err := over("Get").Sweep(t.Context()); !errors.Is(err, down) {
		t.Errorf("R5: %+v, %v", got, err)
	}
}

// TestOneCosts pins what a look-up on demand reads and writes of an operation that runs on: no more
// than the ingestion of its answer, since it has no condition.
func TestOneCosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.register("a", geminisim.StateRunning)
	store := &billed{Store: w.store}
	r := w.reconciler(w.over(store))
	for _, want := range []ledgertest.Bill{{Reads: 3, Writes: 2}, {Reads: 3}} { // it begins to run; no news
		store.bill = ledgertest.Bill{}
		if _, _, err := r.One(t.Context(), name.Key); err != nil {
			t.Fatal(err)
		}
		if store.bill != want {
			t.Errorf("it costs %+v, want %+v", store.bill, want)
		}
	}
}

// TestInconclusiveIsConcluded: an answer that does not tell the state is an answer: the next pass has
// nothing to make up for, and costs what an idle one does [R6].
func TestInconclusiveIsConcluded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.aged(1)
	w.inFront(func(rw http.ResponseWriter, _ *http.Request) bool {
		http.Error(rw, `{"error":{"code":403,"message":"no rights"}}`, http.StatusForbidden)
		return true
	})
	store := &billed{Store: w.store}
	o := reconcile.Options{Ledger: w.over(store), Gemini: w.client, Dynamic: true, Log: logging.New(w.log, "p")}
	var bills []ledgertest.Bill
	for _, unknown := range []int{1, 0, 0} {
		store.bill = ledgertest.Bill{}
		if got, err := reconcile.New(o).Pass(t.Context()); err != nil || got.Unknown != unknown || got.Due != unknown {
			t.Errorf("R6: %+v, %v", got, err)
		}
		bills = append(bills, store.bill)
		w.clock.Advance(time.Minute)
	}
	if bills[1] != bills[2] {
		t.Errorf("R6: the pass after it costs %+v, want %+v", bills[1], bills[2])
	}
}
