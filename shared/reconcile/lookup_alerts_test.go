package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/test/harness"
)

// TestPendingForDays: a batch that is pending for days, as was seen, is alerted after a day and then
// daily, by effects with numbers of their own. It still ends when Gemini reports the end [R4].
func TestPendingForDays(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, setting{alerts: true})
	name := w.register("a", geminisim.StatePending)
	var told []string
	for range 4 * 24 {
		w.clock.Advance(time.Hour)
		w.passWith(reconcile.Options{})
		for _, m := range w.outbox.Drain() {
			told = append(told, m.Effect)
			w.done(m)
		}
	}
	if want := []string{"page@stuck-1", "page@stuck-2", "page@stuck-3"}; !cmp.Equal(told, want) {
		t.Errorf("R4: %v, want %v", told, want)
	}
	stuck := string(name.Key) + " stuck"
	if got := w.alerted(); !cmp.Equal(got, []string{stuck, stuck, stuck}) {
		t.Errorf("R4: the log says %v, want it once in each period, beside the effect", got)
	}
	rec := w.record(name)
	if rec.Settled() || rec.State != operation.Pending || rec.StuckSince.IsZero() {
		t.Errorf("R4: %+v", rec)
	}
	w.move(name, geminisim.StateSucceeded)
	w.clock.Advance(interval)
	w.pass(reconcile.Summary{Due: 1, Checked: 1, Settled: 1, Stuck: 1})
	story, err := w.ledger.Operations.Show(t.Context(), name.Key)
	if err != nil || len(story.Effects) != 4 || !strings.Contains(story.Effects[0].Payload, `"kind":"stuck"`) {
		t.Errorf("R4: %+v %v", story.Effects, err)
	}
}

// TestNotFoundForAWhile: a live interaction that answers 404 for two days, as was seen, is missing,
// which is no end. It is alerted after twelve intervals and then daily, until it is found [R4].
func TestNotFoundForAWhile(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, setting{alerts: true})
	name := w.registered(w.interaction("a", geminisim.InteractionInProgress))
	gone := geminisim.InteractionError(404, "Requested entity was not found.")
	gone.Times = -1
	w.sim.AnswerNext(geminisim.OpInteractionGet, "a", gone)
	w.clock.Advance(grace)
	told := map[string]time.Duration{}
	step := func(gone time.Duration) time.Duration {
		if harness.Soak(t, false, true, true) || gone < 7*time.Hour || gone > 24*time.Hour && gone < 31*time.Hour {
			return interval
		}
		return time.Hour // no alert is due here, and one would be seen
	}
	var since time.Time
	for since = w.clock.Now(); w.clock.Now().Sub(since) < 48*time.Hour; w.clock.Advance(step(w.clock.Now().Sub(since))) {
		if got := w.passWith(reconcile.Options{}); got.Missing != 1 || got.Unknown != 0 {
			t.Fatalf("R4: %+v", got)
		}
		for _, m := range w.outbox.Drain() {
			told[m.Effect] = w.clock.Now().Sub(since)
			w.done(m)
		}
		if rec := w.record(name); rec.Settled() || rec.Condition != lookup.NotFound || !rec.MissingSince.Equal(since) {
			t.Fatalf("R4: %+v", rec)
		}
	}
	want := map[string]time.Duration{"page@missing-1": time.Hour, "page@missing-2": 25 * time.Hour,
		"page@stuck-1": 6 * time.Hour, "page@stuck-2": 30 * time.Hour}
	if !cmp.Equal(told, want) {
		t.Errorf("R4: said after %v, want %v", told, want)
	}
	w.sim.ClearAnswers()
	w.passWith(reconcile.Options{})
	if rec := w.record(name); rec.State != operation.Running || rec.Condition != "" || !rec.MissingSince.IsZero() {
		t.Errorf("R4: found, and %+v", rec)
	}
	w.endAll([]operation.Name{name}, geminisim.InteractionCompleted)
	w.clock.Advance(interval)
	if got := w.passWith(reconcile.Options{}); got.Settled != 1 {
		t.Errorf("R4: %+v", got)
	}
}

// TestMissingIsLogged: without an effect for it the alert is logged, also for a look-up on demand.
func TestMissingIsLogged(t *testing.T) {
	t.Parallel()
	for _, byHand := range []bool{false, true} {
		w := newWorld(t)
		name := w.registered(named(w, "interactions/gone"))
		w.clock.Advance(grace)
		w.pass(reconcile.Summary{Due: 1, Checked: 1, Missing: 1})
		w.clock.Advance(time.Hour)
		if byHand {
			if answer, _, err := w.reconciler(w.ledger).One(t.Context(), name.Key); err != nil ||
				answer.Reason != lookup.NotFound {
				t.Errorf("%+v %v", answer, err)
			}
		} else {
			w.pass(reconcile.Summary{Due: 1, Checked: 1, Missing: 1})
		}
		if got := w.alerted(); !cmp.Equal(got, []string{string(name.Key) + " missing"}) {
			t.Errorf("R4: by hand %v: alerts %v", byHand, got)
		}
	}
}
