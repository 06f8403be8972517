package reconcile_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestGrace: an operation younger than the grace is not looked up, nor one that was looked up
// within this interval [R1, R7].
func TestGrace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.register("a", geminisim.StateRunning)
	w.clock.Advance(grace - time.Microsecond)
	w.pass(reconcile.Summary{})
	w.clock.Advance(time.Microsecond)
	w.pass(reconcile.Summary{Due: 1, Checked: 1, Running: 1})
	w.pass(reconcile.Summary{})
	w.clock.Advance(interval)
	w.pass(reconcile.Summary{Due: 1, Checked: 1, Running: 1})
	if got := w.lookups(); !cmp.Equal(got, map[string]int{string(name.Key): 2}) {
		t.Errorf("look-ups %v", got)
	}
}

// TestRunning: a look-up of a running operation counts an attempt. The reducer decides about state
// and time [R3].
func TestRunning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.register("a", geminisim.StatePending)
	updated := w.clock.Now()
	w.clock.Advance(grace)
	for attempt, c := range []struct {
		to    geminisim.State
		state operation.State
	}{
		{"", operation.Pending}, {geminisim.StateRunning, operation.Running}, {"", operation.Running},
		{geminisim.StateRunning, operation.Running},
		{geminisim.StatePending, operation.Running}, // it does not go back [M3]
	} {
		if c.to != "" {
			w.move(name, c.to)
		}
		if c.to == geminisim.StateRunning {
			updated = w.clock.Now()
		}
		w.pass(reconcile.Summary{Due: 1, Checked: 1, Running: 1})
		rec := w.record(name)
		if rec.LookUps != attempt+1 || rec.State != c.state || !rec.UpdateTime.Equal(updated) || rec.Settled() {
			t.Errorf("attempt %d: %+v, want %s at %s", attempt+1, rec, c.state, updated)
		}
		if next := rec.DueAt.Sub(w.clock.Now()); next <= interval/2 || next > interval {
			t.Errorf("attempt %d: due again after %v", attempt+1, next)
		}
		w.clock.Advance(interval)
	}
	if story, err := w.ledger.Operations.Show(t.Context(), name.Key); err != nil || len(story.Deliveries) != 3 {
		t.Errorf("%v deliveries are kept, want one for each change: %v", story.Deliveries, err)
	}
}

// TestSettled: every terminal state that Gemini reports settles the operation, and its effects are
// planned and published at once [R2].
func TestSettled(t *testing.T) {
	t.Parallel()
	for at, state := range map[geminisim.State]operation.State{
		geminisim.StateSucceeded: operation.Succeeded, geminisim.StateFailed: operation.Failed,
		geminisim.StateCancelled: operation.Cancelled, geminisim.StateExpired: operation.Expired,
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			name := w.register("a", geminisim.StateRunning)
			w.move(name, at)
			ended := w.clock.Now()
			w.clock.Advance(grace)
			w.pass(reconcile.Summary{Due: 1, Checked: 1, Settled: 1})
			rec := w.record(name)
			if rec.State != state || rec.SettledBy != operation.Reconcile || !rec.UpdateTime.Equal(ended) ||
				!rec.DueAt.IsZero() {
				t.Errorf("%+v", rec)
			}
			sent := w.outbox.Drain()
			if want := state == operation.Succeeded; want != (len(sent) == 1) ||
				want && sent[0] != (ledger.Message{Operation: name.Key, Effect: "publish", Attempt: 1}) {
				t.Errorf("published %v", sent)
			}
			var told int
			for _, line := range w.logged() {
				if line["event"] == "ingest" && line["source"] == "reconcile" && line["outcome"] == "applied" &&
					line["operation"] == string(name.Key) {
					told++
				}
			}
			if told != 1 {
				t.Errorf("told %d times", told)
			}
			w.clock.Advance(24 * time.Hour)
			w.pass(reconcile.Summary{EffectsRequeued: len(sent)}) // and never asked about again
		})
	}
}

// TestStaleAnswer: an answer that is older than a delivery that arrived meanwhile does not
// overwrite it [R2, M3].
func TestStaleAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.register("a", geminisim.StateRunning)
	w.clock.Advance(grace)
	w.inFront(func(http.ResponseWriter, *http.Request) bool {
		w.clock.Advance(time.Second)
		w.deliver(name, "m1", operation.Succeeded)
		return false // and now the simulator says RUNNING
	})
	w.pass(reconcile.Summary{Due: 1, Checked: 1, Running: 1})
	if rec := w.record(name); rec.State != operation.Succeeded || rec.SettledBy != operation.Webhook ||
		!rec.DueAt.IsZero() || rec.LookUps != 1 {
		t.Errorf("%+v", rec)
	}
	if sent := w.outbox.Drain(); len(sent) != 1 {
		t.Errorf("published %v", sent)
	}
}

// TestRace: a delivery and a look-up with the same end at once settle the operation once, with one
// effect [M6, S3].
func TestRace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.register("a", geminisim.StateRunning)
	w.move(name, geminisim.StateSucceeded)
	w.clock.Advance(grace)
	w.inFront(func(http.ResponseWriter, *http.Request) bool {
		w.deliver(name, "m1", operation.Succeeded)
		return false
	})
	w.pass(reconcile.Summary{Due: 1, Checked: 1, Running: 1})
	if sent := w.outbox.Drain(); len(sent) != 1 {
		t.Errorf("published %v", sent)
	}
}

// TestInconclusive: an inconclusive look-up leaves the operation as it is, counted and due again.
// Nothing is closed without Gemini's terminal state [R4, R6].
func TestInconclusive(t *testing.T) {
	t.Parallel()
	unknown := reconcile.Summary{Due: 1, Checked: 1, Unknown: 1}
	missing := reconcile.Summary{Due: 1, Checked: 1, Missing: 1}
	for name, c := range map[string]struct {
		answer geminisim.Answer
		want   reconcile.Summary
		reason string
	}{
		"404":           {geminisim.ErrorAnswer(404, "not found"), missing, lookup.NotFound},
		"400":           {geminisim.ErrorAnswer(400, "bad"), unknown, lookup.Refused},
		"403":           {geminisim.ErrorAnswer(403, "no"), unknown, lookup.Denied},
		"429":           {geminisim.ErrorAnswer(429, "slow down"), unknown, lookup.RateLimited},
		"500":           {geminisim.ErrorAnswer(500, "oops"), unknown, lookup.Unavailable},
		"503":           {geminisim.ErrorAnswer(503, "later"), unknown, lookup.Unavailable},
		"504":           {geminisim.ErrorAnswer(504, "late"), unknown, lookup.Timeout},
		"HTML":          {geminisim.Answer{Status: 502, Body: []byte("<html>")}, unknown, lookup.Unavailable},
		"HTML and 200":  {geminisim.Answer{Body: []byte("<html>")}, unknown, lookup.BadAnswer},
		"empty":         {geminisim.Answer{Body: []byte("{}")}, unknown, lookup.NoState},
		"null":          {geminisim.Answer{Body: []byte("null")}, unknown, lookup.BadAnswer},
		"error and 200": {geminisim.Answer{Body: geminisim.ErrorAnswer(500, "oops").Body}, unknown, lookup.NoState},
		"new state": {geminisim.Answer{Body: []byte(`{"metadata":{"state":"BATCH_STATE_PAUSED"}}`)}, unknown,
			lookup.UnknownState},
		"broken off": {geminisim.Answer{Body: []byte(`{"name":`), Drop: true}, unknown, lookup.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			batch := w.register("a", geminisim.StateRunning)
			w.sim.AnswerNext(geminisim.OpGet, "a", c.answer)
			w.sim.AnswerNext(geminisim.OpList, "", geminisim.ErrorAnswer(503, "nor does the list know"))
			w.clock.Advance(grace)
			w.pass(c.want)
			rec := w.record(batch)
			if rec.State != operation.Pending || rec.LookUps != 1 || !rec.DueAt.After(w.clock.Now()) ||
				rec.DueAt.After(w.clock.Now().Add(interval)) {
				t.Errorf("%+v", rec)
			}
			want := map[string]any{"event": "reconcile", "severity": "WARNING", "outcome": "unknown", "reason": c.reason}
			if c.reason == lookup.Denied { // which the operator must fix
				want = map[string]any{"event": "alert", "severity": "ERROR", "outcome": nil, "reason": "denied"}
			}
			lines := w.logged()
			silent := (lookup.Answer{Reason: c.reason}).Unanswered() && c.reason != lookup.Denied
			if n := len(lines); silent && n > 1 && lines[n-1]["reason"] == "unanswered" { // of the whole pass
				if lines[n-1]["event"] != "alert" || lines[n-1]["answer"] != c.reason {
					t.Errorf("logged %v", lines[n-1])
				}
				lines, silent = lines[:n-1], false
			}
			if silent {
				t.Errorf("it is not logged that Gemini answered nothing: %v", lines)
			}
			if len(lines) != 1 || lines[0]["operation"] != string(batch.Key) {
				t.Errorf("logged %v", lines)
			} else {
				for field, value := range want {
					if lines[0][field] != value {
						t.Errorf("logged %s %v, want %v", field, lines[0][field], value)
					}
				}
			}
			if rec.Condition != c.reason || rec.ConditionSince.IsZero() {
				t.Errorf("R4: the record says %q since %v, want %q", rec.Condition, rec.ConditionSince, c.reason)
			}
			// The next pass gets an answer.
			w.move(batch, geminisim.StateSucceeded)
			w.clock.Advance(interval)
			w.pass(reconcile.Summary{Due: 1, Checked: 1, Settled: 1})
			if rec := w.record(batch); rec.Condition != "" {
				t.Errorf("R4: the record still says %q", rec.Condition)
			}
		})
	}
}

// TestNotLookedUp: an unregistered operation, or one of a kind without look-ups, causes no request.
func TestNotLookedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deliver(w.submit("a", geminisim.StateRunning), "m1", operation.Running) // unregistered [W5]
	name, err := operation.ParseName("batchJobs/x", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.ledger.Operations.Register(t.Context(), ledger.Registration{Name: name}); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(grace)
	w.pass(reconcile.Summary{Due: 1, Checked: 1, Unknown: 1})
	if got := w.lookups(); len(got) != 0 {
		t.Errorf("look-ups %v", got)
	}
}

// TestStuck: an operation that is pending for too long is alerted once, and again after a while.
// Its look-ups go on [R4].
func TestStuck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.register("a", geminisim.StateRunning)
	alerts := func() (n int) {
		for _, line := range w.logged() {
			if line["event"] == "alert" && line["reason"] == "stuck" && line["operation"] == string(name.Key) &&
				line["severity"] == "WARNING" {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		after  time.Duration
		stuck  int
		alerts int
	}{{24 * time.Hour, 0, 0}, {interval, 1, 1}, {interval, 1, 0}, {23 * time.Hour, 1, 0}, {time.Hour, 1, 1},
		{interval, 1, 0}} {
		w.clock.Advance(c.after)
		w.pass(reconcile.Summary{Due: 1, Checked: 1, Running: 1, Stuck: c.stuck})
		if n := alerts(); n != c.alerts {
			t.Errorf("%v later: %d alerts, want %d", c.after, n, c.alerts)
		}
	}
	if rec := w.record(name); rec.Settled() || rec.StuckSince.IsZero() {
		t.Errorf("%+v", rec)
	}
}

// TestOne: one operation is looked up on demand, due or not.
func TestOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.register("a", geminisim.StateRunning)
	r := w.reconciler(w.ledger)
	if answer, receipt, err := r.One(t.Context(), name.Key); err != nil || answer.State != operation.Running ||
		receipt.Outcome != ledger.Applied {
		t.Errorf("%+v %+v %v", answer, receipt, err)
	}
	w.sim.AnswerNext(geminisim.OpGet, "a", geminisim.ErrorAnswer(404, "not found"))
	if answer, receipt, err := r.One(t.Context(), name.Key); err != nil || answer.Reason != lookup.NotFound ||
		receipt.Outcome != "" {
		t.Errorf("%+v %+v %v", answer, receipt, err)
	}
	w.move(name, geminisim.StateSucceeded)
	if _, receipt, err := r.One(t.Context(), name.Key); err != nil || !receipt.Settled || receipt.Planned != 1 {
		t.Errorf("%+v %v", receipt, err)
	}
	if _, _, err := r.One(t.Context(), "batches/none"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("%v", err)
	}
}
