package reconcile_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// overdue reports whether the alert was logged since the last call.
func (w *world) overdue() bool {
	w.Helper()
	return slices.Contains(w.alerted(), "<nil> overdue")
}

// TestOldestEffect: without a worker, an effect's age counts from when it could first be claimed,
// however often the sweep moves its due time. After an hour an alert is logged [R8].
func TestOldestEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.register("a", geminisim.StateRunning)
	w.deliver(name, "m1", operation.Succeeded)
	planned := w.clock.Now()
	alerts := 0
	for range 3 * int(time.Hour/interval) {
		w.clock.Advance(interval)
		got, age := w.passWith(reconcile.Options{}), w.clock.Now().Sub(planned)
		if want := int64(age / time.Second); got.EffectsRequeued == 1 && got.OldestEffectSeconds != want ||
			got.EffectsRequeued == 0 && got.OldestEffectSeconds != 0 {
			t.Errorf("R8: %v after it was planned the pass says %+v, want %d s", age, got, want)
		}
		alerted := w.overdue()
		if alerted != (got.EffectsRequeued == 1 && age > time.Hour) {
			t.Errorf("R8: %v after it was planned: an alert is %v", age, alerted)
		}
		if alerted {
			alerts++
		}
	}
	if alerts == 0 {
		t.Error("R8: no pass alerted in three hours")
	}
	grant, err := w.ledger.Effects.Claim(t.Context(), name.Key, "publish")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.ledger.Effects.Finish(t.Context(), grant.Lease); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(2 * time.Hour)
	if got := w.passWith(reconcile.Options{}); got != (reconcile.Summary{}) || w.overdue() {
		t.Errorf("R8: it is done, and the pass says %+v", got)
	}
}

// TestOldestOperation: after a time without passes, the next pass reports how long the oldest
// operation was due [R8].
func TestOldestOperation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		late  time.Duration
		alert bool
	}{{interval, false}, {time.Hour, false}, {time.Hour + time.Second, true}} {
		w := newWorld(t)
		w.register("a", geminisim.StateRunning)
		w.register("b", geminisim.StateRunning)
		w.clock.Advance(grace + c.late)
		w.register("young", geminisim.StateRunning)
		got := w.passWith(reconcile.Options{})
		if got.Due != 2 || got.OldestOperationSeconds != int64(c.late/time.Second) || got.OldestEffectSeconds != 0 {
			t.Errorf("R8: %v late, and the pass says %+v", c.late, got)
		}
		if got := w.overdue(); got != c.alert {
			t.Errorf("R8: %v late: an alert is %v, want %v", c.late, got, c.alert)
		}
		if got := w.passWith(reconcile.Options{}); got.OldestOperationSeconds != 0 || w.overdue() {
			t.Errorf("R8: caught up, and the pass says %+v", got)
		}
	}
}

// TestRegisteredLate: an operation that is registered long after its submission was not overdue
// before [R8].
func TestRegisteredLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.ledger.Operations.Register(t.Context(), ledger.Registration{
		Name: w.submit("a", geminisim.StateRunning), SubmittedAt: w.clock.Now().Add(-48 * time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Minute)
	if got := w.passWith(reconcile.Options{}); got.Due != 1 || got.OldestOperationSeconds != 60 || w.overdue() {
		t.Errorf("R8: %+v, want due for a minute", got)
	}
}

// TestOverdueFollowsTheInterval: where passes are rare, two missed ones are no alert yet [R8].
func TestOverdueFollowsTheInterval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings := w.ledger.Settings()
	settings.Interval = 30 * time.Minute
	var err error
	if w.ledger, err = ledger.New(w.store, settings, ledger.Options{Publisher: w.outbox}); err != nil {
		t.Fatal(err)
	}
	for late, alert := range map[time.Duration]bool{89 * time.Minute: false, 91 * time.Minute: true} {
		w.register(late.String(), geminisim.StateRunning)
		w.clock.Advance(grace + late)
		w.passWith(reconcile.Options{})
		if got := w.overdue(); got != alert {
			t.Errorf("R8: %v late: an alert is %v, want %v", late, got, alert)
		}
		w.clock.Advance(30 * time.Minute)
		w.passWith(reconcile.Options{})
	}
}

// TestUncertain: an effect whose worker's lease ran out may have happened. The pass that publishes
// it again counts it, and no other effect [R8].
func TestUncertain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range w.many(2) {
		w.deliver(name, "m-"+name.Key.ID(), operation.Succeeded)
	}
	claimed := w.outbox.Drain()[0]
	if grant, err := w.ledger.Effects.Claim(t.Context(), claimed.Operation, claimed.Effect); err != nil ||
		grant.Verdict != ledger.Claimed {
		t.Fatalf("%+v %v", grant, err)
	}
	lease := w.ledger.Settings().ClaimTTL
	w.clock.Advance(lease)
	got := w.passWith(reconcile.Options{})
	if got.EffectsRequeued != 2 || got.EffectsUncertain != 1 || got.OldestEffectSeconds != int64(lease/time.Second) {
		t.Errorf("R8: %+v, want one of two uncertain", got)
	}
	grant, err := w.ledger.Effects.Claim(t.Context(), claimed.Operation, claimed.Effect)
	if err != nil || !grant.Lease.Seized {
		t.Fatalf("%+v %v", grant, err)
	}
	if _, err := w.ledger.Effects.Release(t.Context(), grant.Lease, errors.New("the receiver is away"), 0); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(2 * interval)
	if got := w.passWith(reconcile.Options{}); got.EffectsUncertain != 0 || got.EffectsRequeued == 0 {
		t.Errorf("R8: its next worker said that it failed, and the pass says %+v", got)
	}
}
