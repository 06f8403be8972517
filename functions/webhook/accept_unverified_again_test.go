package webhook_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestHintUnconfirmed: while Gemini cannot say how the operation stands the delivery is to come again, no sooner than
// Gemini wants to be asked, and nothing is written [W3].
func TestHintUnconfirmed(t *testing.T) {
	t.Parallel()
	html := http.Header{"Content-Type": {"text/html"}}
	for _, c := range []struct {
		name, reason string
		answer       geminisim.Answer
		after        int // seconds
	}{
		{"503", "unavailable", geminisim.ErrorAnswer(http.StatusServiceUnavailable, "away"), 30},
		{"500", "unavailable", geminisim.ErrorAnswer(http.StatusInternalServerError, "broken"), 30},
		{"HTML", "unavailable", geminisim.Answer{Status: http.StatusBadGateway, Header: html, Body: []byte("<html>")}, 30},
		{"429", "rate-limited", geminisim.Answer{Status: http.StatusTooManyRequests,
			Header: http.Header{"Retry-After": {"77"}}, Body: []byte("{}")}, 77},
		{"429 soon", "rate-limited", geminisim.Answer{Status: http.StatusTooManyRequests,
			Header: http.Header{"Retry-After": {"1"}}, Body: []byte("{}")}, 30},
		{"a bad key", "denied", geminisim.ErrorAnswer(http.StatusForbidden, "no"), 30},
		{"no state", "no-state", geminisim.Answer{Body: []byte("{}")}, 30},
		{"an error under a 200", "no-state", geminisim.Answer{Body: []byte(`{"error":{"code":500}}`)}, 30},
		{"broken off", "unavailable", geminisim.Answer{Body: []byte(`{"name":`), Drop: true}, 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			name := w.batch("a", geminisim.StateSucceeded)
			w.register(name)
			w.sim.AnswerNext(geminisim.OpGet, name, c.answer)
			body := event("batch.succeeded", name, t1)
			w.unwritten(func() { w.wantAgain(w.hint("m1", body), c.after) })
			w.wantLog(map[string]any{
				"event": "ingest", "outcome": "unconfirmed", "reason": c.reason, "severity": "WARNING", "operation": name,
				"delivery": "m1",
			})
			w.clock.advance(gap)
			w.took(w.hint("m1", body), "applied", "advanced", true)
			w.wantAsked(2)
		})
	}
}

// TestHintUnreachable: so where nothing listens at Gemini's address.
func TestHintUnreachable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{confirm: "always"})
	w.api.Close()
	w.unwritten(func() { w.wantAgain(w.deliver("m1", event("batch.succeeded", "batches/a", t1)), 30) })
	w.wantLog(map[string]any{"event": "ingest", "outcome": "unconfirmed", "reason": "unavailable"})
}

// TestHintAgain: the same hint is taken in once, and Gemini is asked once [W4].
func TestHintAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.batch("a", geminisim.StateSucceeded)
	w.register(name)
	body := event("batch.succeeded", name, t1)
	w.took(w.hint("m1", body), "applied", "advanced", true)
	for _, after := range []time.Duration{0, gap, 20 * time.Hour} {
		w.clock.advance(after)
		w.unwritten(func() { w.took(w.hint("m1", body), "duplicate", "", true) })
	}
	w.wantAsked(1)
}

// TestHintTooSoon: another hint within the gap costs no look-up; the next pass asks instead, so that nothing is lost.
func TestHintTooSoon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.batch("a", geminisim.StateRunning)
	w.register(name)
	w.took(w.hint("m1", event("batch.running", name, t1)), "applied", "advanced", true)
	w.set(name, geminisim.StateSucceeded)
	w.clock.advance(gap - time.Second)
	if due := w.show(w.key(name)).Record.DueAt; !due.After(w.clock.Now()) {
		t.Fatalf("due at %s already", due)
	}
	w.logged()
	for range 3 { // however often
		w.took(w.hint("m2", event("batch.succeeded", name, t1)), "ignored", "due-now", true)
		w.wantLog(map[string]any{"event": "ingest", "outcome": "ignored", "reason": "due-now", "delivery": "m2"})
	}
	w.wantAsked(1)
	if due := w.show(w.key(name)).Record.DueAt; !due.Equal(w.clock.Now()) {
		t.Errorf("due at %s, want %s", due, w.clock.Now())
	}
	// once is enough
	w.unwritten(func() { w.took(w.hint("m3", event("batch.succeeded", name, t1)), "ignored", "due-now", true) })

	w.clock.advance(time.Second)
	w.took(w.hint("m2", event("batch.succeeded", name, t1)), "applied", "advanced", true)
	w.unwritten(func() { w.took(w.hint("m4", event("batch.failed", name, t1)), "ignored", "settled", true) })
	w.wantAsked(1)
}

// TestHintTooSoonUnregistered: no pass asks about an unregistered operation, so such a hint is to be redelivered.
func TestHintTooSoonUnregistered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.batch("a", geminisim.StateRunning)
	w.took(w.hint("m1", event("batch.running", name, t1)), "applied", "advanced", false)
	w.set(name, geminisim.StateSucceeded)
	w.unwritten(func() { w.wantAgain(w.hint("m2", event("batch.succeeded", name, t1)), 30) })
	all := w.logged()
	if last := all[len(all)-1]; last["reason"] != "asked-lately" || last["severity"] != "WARNING" {
		t.Errorf("logged %v", last)
	}
	w.clock.advance(gap)
	w.took(w.hint("m2", event("batch.succeeded", name, t1)), "applied", "advanced", false)
}

// TestHintAbandoned: no pass asks about what was abandoned either, and its completion still counts [R4]: a hint of it
// comes again until Gemini shows it.
func TestHintAbandoned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.batch("a", geminisim.StateRunning)
	w.register(name)
	if _, err := w.ledger.Abandon(t.Context(), w.key(name), ledger.Abandonment{By: "me", Why: "too slow"}); err != nil {
		t.Fatal(err)
	}
	end := event("batch.succeeded", name, t1)
	w.unwritten(func() { w.wantAgain(w.hint("m1", end), 30) })
	w.wantLog(map[string]any{"event": "ingest", "outcome": "unconfirmed", "reason": "not-yet"})
	w.unwritten(func() { w.wantAgain(w.hint("m1", end), 30) })
	w.wantLog(map[string]any{"event": "ingest", "outcome": "unconfirmed", "reason": "asked-lately"})
	w.set(name, geminisim.StateSucceeded)
	w.clock.advance(gap)
	w.took(w.hint("m1", end), "applied", "advanced", true)
	if n := len(w.outbox.All()); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
}

// TestHintAbandonedAndNotFound: the same where Gemini does not find an operation, as it was seen to for days of a
// live one; of an operation that passes ask about, nothing more is to be expected of the delivery.
func TestHintAbandonedAndNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.register("interactions/gone")
	end := event("interaction.completed", "gone", t1)
	w.took(w.hint("m1", end), "ignored", "not-found", true)
	if _, err := w.ledger.Abandon(t.Context(), "interactions/gone",
		ledger.Abandonment{By: "me", Why: "not found"}); err != nil {
		t.Fatal(err)
	}
	w.clock.advance(gap)
	w.unwritten(func() { w.wantAgain(w.hint("m1", end), 30) })
}

// TestHintOfAnEndTooEarly: where Gemini still shows an operation running whose end a hint tells, the next pass asks
// again: the delivery, which was taken in, will not.
func TestHintOfAnEndTooEarly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.batch("a", geminisim.StateRunning)
	w.register(name)
	w.took(w.hint("m1", event("batch.succeeded", name, t1)), "applied", "advanced", true)
	w.wantState(name, operation.Running)
	if due := w.show(w.key(name)).Record.DueAt; !due.Equal(w.clock.Now()) {
		t.Errorf("applied: due at %s, want %s", due, w.clock.Now())
	}
	// A pass has asked meanwhile; now the answer says nothing new.
	w.clock.advance(gap)
	w.postponed(w.key(name))
	w.took(w.hint("m2", event("batch.succeeded", name, t1)), "dropped", "stale-or-equal-update-time", true)
	if due := w.show(w.key(name)).Record.DueAt; !due.Equal(w.clock.Now()) {
		t.Errorf("dropped: due at %s, want %s", due, w.clock.Now())
	}
}

// TestHintWithoutKey: while there is nothing to ask Gemini with, a hint is redelivered later, and a signed body is
// taken in all the same; then the hint is confirmed, without a restart.
func TestHintWithoutKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{noKey: 1})
	name := w.batch("a", geminisim.StateSucceeded)
	w.register(name)
	w.unwritten(func() {
		r := w.hint("m1", event("batch.succeeded", name, t1))
		if r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" ||
			strings.Contains(r.Body.Error.Message, "Manager") {
			t.Errorf("%d %v %+v", r.Status, r.Header, r.Body)
		}
	})
	w.wantLog(map[string]any{"event": "ingest", "outcome": "unconfirmed", "reason": confirm.NoClient})
	w.took(w.deliver("m2", event("batch.running", name, t0)), "applied", "advanced", true)
	w.clock.Set(w.clock.Now().Add(gap))
	w.took(w.hint("m1", event("batch.succeeded", name, t1)), "applied", "advanced", true)
}
