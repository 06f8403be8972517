package reconcile_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestReportOfMore: a pass that Gemini asks to wait for longer than it may take asks no more, neither
// for operations nor for names, and stores that there is more to do [R6].
func TestReportOfMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.many(20)
	w.intend("c-1", ledger.Intention{Collection: operation.Operations})
	w.keep("c-1", named(w, "operations/unknown"))
	w.clock.Advance(interval)
	w.inFront(func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("Retry-After", "3600")
		http.Error(rw, `{"error":{"code":429,"message":"slow down"}}`, http.StatusTooManyRequests)
		return true
	})
	if got := w.lastPass(reconcile.Options{}); got.Outcome != ledger.PassMore || got.Errors != 0 || got.Checked == 20 {
		t.Errorf("R6: %+v", got)
	}
	if n := w.lookups()["operations/unknown"]; n != 0 {
		t.Errorf("R6: the name was looked up %d times", n)
	}
}

// TestReportOfPublishing: an effect that a pass planned and could not publish counts as an error. It
// waits for the sweep [R5].
func TestReportOfPublishing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.register("a", geminisim.StateSucceeded)
	w.clock.Advance(grace)
	w.outbox.Fail(errors.New("the queue is down"))
	w.pass(reconcile.Summary{Due: 1, Checked: 1, Settled: 1, Errors: 1})
	w.outbox.Fail(nil)
	w.pass(reconcile.Summary{EffectsRequeued: 1})
}
