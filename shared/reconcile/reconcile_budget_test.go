package reconcile_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestSlowLookUps: with ten thousand pending operations and a Gemini that does not answer, one pass
// still publishes an overdue effect, finds an unregistered batch and abandons an intent [R6].
func TestSlowLookUps(t *testing.T) {
	t.Parallel()
	inBubble(t, setting{}, func(t *testing.T, w *world) {
		done := w.register("done", geminisim.StateRunning)
		w.outbox.Fail(errors.New("the queue is down"))
		w.deliver(done, "m1", operation.Succeeded)
		w.outbox.Fail(nil)
		w.intend("c-1", ledger.Intention{})
		w.clock.Advance(6 * time.Hour)
		w.intend("c-2", ledger.Intention{})
		orphan := w.submit("opledger:c-2", geminisim.StateRunning)
		w.copies(w.registered(w.interaction("a", geminisim.InteractionInProgress)), 10_000)
		w.clock.Advance(grace)
		w.inFront(func(_ http.ResponseWriter, r *http.Request) bool {
			if isList(r) {
				return false
			}
			<-r.Context().Done()
			return true
		})
		got := w.passWith(reconcile.Options{Budget: 8 * time.Second}) // three quarters pass in vain
		if got.EffectsRequeued != 1 || !got.More || got.Errors != 0 || got.Due > 200 || got.Checked > 20 {
			t.Errorf("R6: %+v", got)
		}
		if sent := w.published(); !cmp.Equal(sent, []string{string(done.Key) + " publish"}) {
			t.Errorf("R5: published %v", sent)
		}
		w.isRegistered(orphan)
		if intent := w.intent("c-1"); intent.State != ledger.IntentAbandoned {
			t.Errorf("G6: %+v", intent)
		}
	})
}

// TestRetryAfterTheBudget: a Retry-After that is longer than a pass ends the pass at once. What was
// not looked up stays due, without an attempt, and is not even read [R6].
func TestRetryAfterTheBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.registered(w.interaction("a", geminisim.InteractionInProgress))
	w.copies(name, 2000)
	limited := geminisim.InteractionError(http.StatusTooManyRequests, "slow down")
	limited.Header = http.Header{"Retry-After": {"3600"}}
	limited.Times = -1
	w.sim.AnswerNext(geminisim.OpInteractionGet, "", limited)
	w.clock.Advance(grace)
	store := ledgertest.Count(w.store)
	began := time.Now()
	got, err := w.reconciler(w.over(store)).Pass(t.Context())
	if err != nil || !got.More || got.Errors != 0 || got.Checked == 0 || got.Checked != got.Unknown {
		t.Errorf("R6: %+v %v", got, err)
	}
	if asked := w.sim.Stats().InteractionGets; asked != got.Checked || asked > 8 {
		t.Errorf("R6: asked %d times after a 429, %+v", asked, got)
	}
	if n := store.Counts(); n.Read > 200 || time.Since(began) > 5*time.Second {
		t.Errorf("R6: %+v, %v for nothing", n, time.Since(began))
	}
	w.sim.ClearAnswers()
	page, err := w.ledger.Operations.Due(t.Context(), w.clock.Now(), ledger.Cursor{}, 5000)
	if err != nil || len(page.Items) != 2001-got.Checked {
		t.Errorf("R6: %d are still due of %d, %v", len(page.Items), 2001-got.Checked, err)
	}
	for _, due := range page.Items {
		if due.Record.LookUps != 0 {
			t.Fatalf("R3: %d attempts of %s", due.Record.LookUps, due.Record.Key)
		}
	}
}

// TestRetryAfterWithinTheBudget: the pass waits for the end of a shorter one, and then looks
// everything up.
func TestRetryAfterWithinTheBudget(t *testing.T) {
	t.Parallel()
	inBubble(t, setting{}, func(t *testing.T, w *world) {
		w.many(20)
		limited := geminisim.InteractionError(http.StatusTooManyRequests, "slow down")
		limited.Header = http.Header{"Retry-After": {"1"}}
		w.sim.AnswerNext(geminisim.OpInteractionGet, "", limited)
		w.clock.Advance(grace)
		began := time.Now()
		w.pass(reconcile.Summary{Due: 20, Checked: 20, Running: 19, Unknown: 1})
		if took := time.Since(began); took < time.Second {
			t.Errorf("R6: it took %v, although Gemini asked for a pause of 1s", took)
		}
	})
}

// TestCutOffAtTheEnd: a pass that is cut off while the last look-ups run reports that there is more
// to do.
func TestCutOffAtTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.many(2)
	w.clock.Advance(grace)
	ctx, cancel := context.WithCancel(t.Context())
	w.hang(2, cancel)
	got, err := w.reconciler(w.ledger).Pass(ctx)
	if want := (reconcile.Summary{Due: 2, Checked: 2, Unknown: 2, More: true}); err != nil || got != want {
		t.Errorf("%+v %v, want %+v", got, err, want)
	}
}

// TestBudget: a pass ends when its time is over, whatever it waits for.
func TestBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.many(2)
	w.clock.Advance(grace)
	w.hang(-1, nil)
	got, err := reconcile.New(reconcile.Options{Ledger: w.ledger, Gemini: w.client, Budget: 200 * time.Millisecond,
		Log: logging.New(w.log, "p")}).Pass(t.Context())
	// On a machine so slow that nothing was read in that time, that is the error.
	if err != nil && !errors.Is(err, context.DeadlineExceeded) || err == nil && (!got.More || got.Errors != 0) {
		t.Errorf("%+v %v, want more to do", got, err)
	}
}

// TestCutOff: a pass whose caller disconnects loses nothing: what it claimed is due an interval
// later, the rest at once.
func TestCutOff(t *testing.T) {
	t.Parallel()
	inBubble(t, setting{}, func(t *testing.T, w *world) {
		names := w.many(110)
		w.clock.Advance(grace)
		w.endAll(names, geminisim.InteractionCompleted)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var n atomic.Int32
		w.inFront(func(http.ResponseWriter, *http.Request) bool {
			if n.Add(1) == 40 {
				cancel()
			}
			return false
		})
		first, err := w.reconciler(w.ledger).Pass(ctx)
		if err != nil || !first.More || first.Errors != 0 || first.Checked < 32 || first.Checked > 60 {
			t.Errorf("%+v %v", first, err)
		}
		w.inFront(nil)
		second, err := w.reconciler(w.ledger).Pass(t.Context())
		// Of a claim or a result that was cut off in its commit, the pass does not know that it was made.
		claimed := len(names) - second.Due
		if err != nil || second.More || second.Errors != 0 || claimed < first.Checked || claimed > first.Due {
			t.Errorf("%+v %v after %+v", second, err, first)
		}
		w.clock.Advance(interval)
		third, err := w.reconciler(w.ledger).Pass(t.Context())
		if err != nil || third.More || third.Errors != 0 {
			t.Errorf("%+v %v after %+v and %+v", third, err, first, second)
		}
		for _, name := range names {
			if !w.record(name).Settled() {
				t.Errorf("%s is not settled after %+v, %+v and %+v", name, first, second, third)
			}
		}
		sent := map[ledger.Message]bool{}
		for _, m := range w.outbox.Drain() {
			m.Attempt = 0
			sent[m] = true
		}
		if len(sent) != len(names) {
			t.Errorf("%d effects were handed over", len(sent))
		}
	})
}
