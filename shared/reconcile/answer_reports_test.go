package reconcile_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestReportedEnds: the ends that were reported of live jobs, also those without an event [R2, R4,
// M1].
func TestReportedEnds(t *testing.T) {
	t.Parallel()
	type end struct {
		state  operation.State
		result operation.Result
	}
	batch, video, interaction := (*world).submit, (*world).video, (*world).interaction
	counts := func(failed int64) *operation.Counts { return &operation.Counts{Total: 20, Failed: failed} }
	for name, c := range map[string]struct {
		submit func(*world, string, geminisim.State) operation.Name
		at     geminisim.State
		want   end
	}{
		"FAILED batch":  {batch, geminisim.StateFailed, end{operation.Failed, operation.Result{Counts: counts(20)}}},
		"EXPIRED batch": {batch, geminisim.StateExpired, end{operation.Expired, operation.Result{Counts: counts(20)}}},
		"CANCELLED batch, of which no event tells": {batch, geminisim.StateCancelled,
			end{operation.Cancelled, operation.Result{Counts: counts(20)}}},
		"video":                                 {video, geminisim.VideoSucceeded, end{state: operation.Succeeded}},
		"failed video, of which no event tells": {video, geminisim.VideoFailed, end{state: operation.Failed}},
		"filtered video": {video, geminisim.VideoFiltered, end{operation.Failed, operation.Result{
			ErrorCode: "filtered", ErrorMessage: "The video was filtered because of the safety settings."}}},
		"interaction":           {interaction, geminisim.InteractionCompleted, end{state: operation.Succeeded}},
		"failed interaction":    {interaction, geminisim.InteractionFailed, end{state: operation.Failed}},
		"cancelled interaction": {interaction, geminisim.InteractionCancelled, end{state: operation.Cancelled}},
		"incomplete interaction": {interaction, geminisim.InteractionIncomplete,
			end{operation.Failed, operation.Result{ErrorCode: "incomplete"}}},
		"interaction over budget": {interaction, geminisim.InteractionBudgetExceeded,
			end{operation.Failed, operation.Result{ErrorCode: "budget_exceeded"}}},
	} {
		t.Run("R4: "+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			name := w.registered(c.submit(w, "a", c.at))
			w.clock.Advance(grace)
			w.pass(reconcile.Summary{Due: 1, Checked: 1, Settled: 1})
			rec := w.record(name)
			if rec.State != c.want.state || rec.SettledBy != "reconcile" || !rec.DueAt.IsZero() {
				t.Errorf("R2: %+v", rec)
			}
			got := rec.Result
			if c.want.result.Counts != nil {
				if got.Counts == nil || got.Counts.Total == 0 || got.Counts.Failed != got.Counts.Total {
					t.Errorf("L1: counts %+v", got.Counts)
				}
				if got.ErrorCode == "" || got.ErrorMessage == "" {
					t.Errorf("L1: the error is lost: %+v", got)
				}
			}
			if want := c.want.result; want.ErrorCode != "" && (got.ErrorCode != want.ErrorCode ||
				want.ErrorMessage != "" && got.ErrorMessage != want.ErrorMessage) {
				t.Errorf("M1: %+v, want %+v", got, want)
			}
			if rec.State == "FAILED" && got.ErrorCode == "" {
				t.Errorf("L1: it failed, and does not say why: %+v", got)
			}
		})
	}
}

// TestReportedAnswers: the other answers that were reported of live jobs leave the operation
// pending, with the reason on its record. Nothing is closed without Gemini's terminal state [R4].
func TestReportedAnswers(t *testing.T) {
	t.Parallel()
	batch, video, interaction := (*world).submit, (*world).video, (*world).interaction
	errorBody := geminisim.Answer{Body: geminisim.ErrorAnswer(500, "internal").Body}
	for name, c := range map[string]struct {
		submit  func(*world, string, geminisim.State) operation.Name
		at, end geminisim.State
		get     geminisim.Op
		answer  *geminisim.Answer
		trouble string
	}{
		"video done with neither error nor sample": {video, geminisim.VideoEmpty, geminisim.VideoSucceeded, "", nil,
			lookup.Indeterminate},
		"a state that is new": {batch, "BATCH_STATE_DREAMING", geminisim.StateCancelled, "", nil,
			lookup.UnknownState},
		"a status that is new": {interaction, "reviewing", geminisim.InteractionCompleted, "", nil,
			lookup.UnknownState},
		"batch: 200 with an error": {batch, geminisim.StateRunning, geminisim.StateSucceeded,
			geminisim.OpGet, &errorBody, lookup.NoState},
		"video: 200 with an error": {video, geminisim.VideoRunning, geminisim.VideoSucceeded,
			geminisim.OpVideoGet, &errorBody, lookup.NoState},
		"interaction: 200 with an error": {interaction, geminisim.InteractionInProgress, geminisim.InteractionCompleted,
			geminisim.OpInteractionGet, &errorBody, lookup.NoState},
	} {
		t.Run("R4: "+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			name := w.registered(c.submit(w, "a", c.at))
			if c.answer != nil {
				answer := *c.answer // which others have, too
				answer.Times = 3
				w.sim.AnswerNext(c.get, "a", answer)
			}
			w.clock.Advance(grace)
			for attempt := range 3 {
				w.pass(reconcile.Summary{Due: 1, Checked: 1, Unknown: 1})
				if rec := w.record(name); rec.Settled() || rec.Condition != c.trouble || rec.LookUps != attempt+1 {
					t.Errorf("R4: %+v, want the trouble %s", rec, c.trouble)
				}
				w.clock.Advance(interval)
			}
			w.endAll([]operation.Name{name}, c.end)
			w.pass(reconcile.Summary{Due: 1, Checked: 1, Settled: 1})
			if rec := w.record(name); rec.Condition != "" || !rec.ConditionSince.IsZero() {
				t.Errorf("R4: the record still says %q", rec.Condition)
			}
		})
	}
}

// TestWaiting: an interaction that waits for its submitter is looked up rarely, and ends as any
// other [M1].
func TestWaiting(t *testing.T) {
	t.Parallel()
	for _, at := range []geminisim.State{geminisim.InteractionRequiresAction, geminisim.InteractionRequiresContinuation} {
		w := newWorld(t)
		name := w.registered(w.interaction("a", at))
		w.clock.Advance(grace)
		const hours = 5
		for range hours * 12 {
			w.passWith(reconcile.Options{})
			w.clock.Advance(interval)
		}
		// The first says that it waits, the second comes an interval later, then one in twelve.
		if n := w.sim.Stats().InteractionGets; n < hours || n > hours+2 {
			t.Errorf("%s: asked %d times in %d hours", at, n, hours)
		}
		w.endAll([]operation.Name{name}, geminisim.InteractionCompleted)
		w.clock.Advance(12 * interval)
		if got := w.passWith(reconcile.Options{}); got.Settled != 1 {
			t.Errorf("%s: %+v", at, got)
		}
	}
}

// TestAbandoned: an abandoned operation is not looked up.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.register("a", geminisim.StateRunning)
	if _, err := w.ledger.Operations.Abandon(t.Context(), name.Key,
		ledger.Decision{By: "ann", Why: "deleted"}); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(24 * time.Hour)
	w.pass(reconcile.Summary{})
	if st := w.sim.Stats(); st.BatchGets+st.BatchLists != 0 {
		t.Errorf("R4: asked %d times", st.BatchGets+st.BatchLists)
	}
}

// TestWithheld: effects that are withheld, because the operation ended before the retention, are
// logged, whether a look-up or an adoption finds it [L3].
func TestWithheld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.submit("old", geminisim.StateSucceeded)
	w.clock.Advance(15 * 24 * time.Hour)
	w.registered(old)
	adopted := w.submit("adopted", geminisim.StateSucceeded)
	w.deliverAt(adopted, "m1", operation.Succeeded, w.clock.Now().Add(-15*24*time.Hour))
	w.clock.Advance(grace)
	w.passWith(reconcile.Options{Adopt: true})
	told := map[any]bool{}
	for _, line := range w.logged() {
		if line["event"] == "effect" && line["outcome"] == "withheld" && line["effects"] == 1.0 {
			told[line["operation"]] = true
		}
	}
	if !told[string(old.Key)] || !told[string(adopted.Key)] || len(told) != 2 {
		t.Errorf("told of %v, want %s and %s", told, old.Key, adopted.Key)
	}
	if got := w.published(); len(got) != 0 {
		t.Errorf("published %v", got)
	}
}

// TestConflict: another terminal state than the present one is not applied, and is no error [M5].
func TestConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.register("a", geminisim.StateRunning)
	w.move(name, geminisim.StateSucceeded)
	w.clock.Advance(grace)
	w.inFront(func(http.ResponseWriter, *http.Request) bool {
		w.deliver(name, "m1", operation.Failed)
		return false
	})
	w.pass(reconcile.Summary{Due: 1, Checked: 1, Running: 1})
	if rec := w.record(name); rec.State != operation.Failed {
		t.Errorf("%+v", rec)
	}
	lines := w.logged()
	if len(lines) != 1 || lines[0]["outcome"] != "conflict" || lines[0]["reason"] != "terminal-conflict" {
		t.Errorf("logged %v", lines)
	}
}
