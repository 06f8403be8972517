package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestPoisonedEffect: an unreadable effect does not keep the sweep from the others, nor operations
// from being looked up.
func TestPoisonedEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := w.many(3)
	w.outbox.Fail(errors.New("the queue is down"))
	for _, name := range names[:2] {
		w.deliver(name, "m-"+name.Key.ID(), operation.Succeeded)
	}
	w.outbox.Fail(nil)
	w.poison(ledger.EffectPath(names[0].Key, "publish"), unreadable)
	w.clock.Advance(grace)
	w.pass(reconcile.Summary{EffectsRequeued: 1, Errors: 1, Due: 1, Checked: 1, Running: 1})
	if sent := w.outbox.Drain(); len(sent) != 1 || sent[0].Operation != names[1].Key {
		t.Errorf("published %v", sent)
	}
}

// TestSweep: effects that no worker has are published again, once per interval and not in every
// pass [R5], whatever the state of their operation.
func TestSweep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.register("a", geminisim.StateRunning)
	w.outbox.Fail(errors.New("the queue is down"))
	w.deliver(name, "m1", operation.Succeeded)
	w.pass(reconcile.Summary{Errors: 1}) // not published: it is due in the next pass, however soon
	w.outbox.Fail(nil)
	w.clock.Advance(time.Microsecond)
	w.pass(reconcile.Summary{EffectsRequeued: 1})
	w.pass(reconcile.Summary{})
	w.outbox.Drain() // lost
	w.clock.Advance(interval)
	w.pass(reconcile.Summary{EffectsRequeued: 1})
	w.pass(reconcile.Summary{})
	if sent := w.outbox.Drain(); len(sent) != 1 ||
		sent[0] != (ledger.Message{Operation: name.Key, Effect: "publish", Attempt: 1}) {
		t.Errorf("published %v", sent)
	}
	grant, err := w.ledger.Effects.Claim(t.Context(), name.Key, "publish")
	if err != nil || grant.Verdict != ledger.Claimed {
		t.Fatalf("%+v %v", grant, err)
	}
	w.clock.Advance(interval) // a worker has it
	w.pass(reconcile.Summary{})
	w.clock.Advance(interval) // and has died
	w.pass(reconcile.Summary{EffectsRequeued: 1, EffectsUncertain: 1})
	if sent := w.outbox.Drain(); len(sent) != 1 || sent[0].Attempt != 2 {
		t.Errorf("published %v", sent)
	}
	if grant, err = w.ledger.Effects.Claim(t.Context(), name.Key, "publish"); err != nil || !grant.Lease.Seized {
		t.Fatalf("%+v %v", grant, err)
	}
	if err := w.ledger.Effects.Finish(t.Context(), grant.Lease); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(24 * time.Hour)
	w.pass(reconcile.Summary{})
}

// TestSweepQueueFull: a full queue is no error of a pass, neither where it sweeps nor where it plans. It says so once,
// tries no other message, and has more to do. One that stays full is an alert [R5, R8].
func TestSweepQueueFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.outbox.Fail(ledger.ErrQueueFull)
	names := w.many(120) // more than a page
	for _, name := range names {
		w.deliver(name, "m-"+name.Key.ID(), operation.Succeeded)
	}
	w.register("found", geminisim.StateSucceeded)
	w.clock.Advance(grace)
	if got := w.lastPass(reconcile.Options{}); got.Outcome != ledger.PassMore || got.Error != "" || got.Settled != 1 {
		t.Errorf("%+v", got)
	}
	full := 0
	for _, line := range w.logged() {
		if line["severity"] != "INFO" {
			t.Errorf("logged %v", line)
		}
		if strings.HasPrefix(fmt.Sprint(line["message"]), "the queue of effects is full") {
			full++
		}
	}
	if full != 1 {
		t.Errorf("said %d times", full)
	}
	w.clock.Advance(time.Hour) // it stays full: that is seen by the age of what waits
	w.passWith(reconcile.Options{})
	overdue := func(line map[string]any) bool { return line["reason"] == "overdue" }
	if lines := w.logged(); !slices.ContainsFunc(lines, overdue) {
		t.Errorf("R8: no alert: %v", lines)
	}
	w.outbox.Fail(nil)
	w.clock.Advance(time.Microsecond)
	w.pass(reconcile.Summary{EffectsRequeued: len(names) + 1})
}

// hang makes Gemini answer nothing. When n look-ups hang, then is called.
func (w *world) hang(n int32, then func()) {
	var hanging atomic.Int32
	w.inFront(func(_ http.ResponseWriter, r *http.Request) bool {
		if hanging.Add(1) == n {
			then()
		}
		<-r.Context().Done()
		return true
	})
}

// TestGeminiHangs: effects are published before any look-up, so also when Gemini never answers.
// Look-ups that were cut off with the pass are repeated an interval later [R6].
func TestGeminiHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := w.many(20)
	w.outbox.Fail(errors.New("the queue is down"))
	w.deliver(names[0], "m1", operation.Succeeded)
	w.outbox.Fail(nil)
	w.clock.Advance(grace)
	const atOnce = 8
	ctx, cancel := context.WithCancel(t.Context())
	var swept []ledger.Message
	w.hang(atOnce, func() {
		swept = w.outbox.Drain()
		cancel()
	})
	got, err := w.reconciler(w.ledger).Pass(ctx)
	if want := (reconcile.Summary{EffectsRequeued: 1, Due: atOnce, Checked: atOnce, Unknown: atOnce,
		More: true}); err != nil || apartFromAge(got) != want {
		t.Errorf("%+v %v, want %+v", got, err, want)
	}
	if len(swept) != 1 {
		t.Errorf("the sweep waited for Gemini: %v", swept)
	}
	for _, line := range w.logged() {
		if line["outcome"] == "unknown" {
			t.Errorf("R6: the end of the pass is logged as an inconclusive look-up: %v", line)
		}
	}
	w.inFront(nil)
	rest := 19 - atOnce // no pass has claimed them: they are still due
	w.pass(reconcile.Summary{Due: rest, Checked: rest, Running: rest})
	w.clock.Advance(interval)
	w.pass(reconcile.Summary{Due: 19, Checked: 19, Running: 19, EffectsRequeued: 1})
}
