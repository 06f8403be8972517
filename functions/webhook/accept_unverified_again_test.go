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

// TestUnconfirmed: while Gemini cannot report the operation's state, an unverified delivery is
// answered 503, with Gemini's Retry-After at least, and nothing is written [W3].
func TestUnconfirmed(t *testing.T) {
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
			w.unwritten(func() { w.want503(w.unverified("m1", body), c.after) })
			w.wantLog(map[string]any{
				"event": "ingest", "outcome": "unconfirmed", "reason": c.reason, "severity": "WARNING", "operation": name,
				"delivery": "m1",
			})
			w.clock.Advance(gap)
			w.wantAccepted(w.unverified("m1", body), "applied", "advanced", true)
			w.wantLookUps(2)
		})
	}
}

// TestGeminiUnreachable: an unverified delivery is answered 503 where nothing listens at Gemini's
// address.
func TestGeminiUnreachable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{confirm: "always"})
	w.api.Close()
	w.unwritten(func() { w.want503(w.deliver("m1", event("batch.succeeded", "batches/a", t1)), 30) })
	w.wantLog(map[string]any{"event": "ingest", "outcome": "unconfirmed", "reason": "unavailable"})
}

// TestUnverifiedRepeated: the same unverified delivery is ingested once, with one look-up [W4].
func TestUnverifiedRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.batch("a", geminisim.StateSucceeded)
	w.register(name)
	body := event("batch.succeeded", name, t1)
	w.wantAccepted(w.unverified("m1", body), "applied", "advanced", true)
	for _, after := range []time.Duration{0, gap, 20 * time.Hour} {
		w.clock.Advance(after)
		w.unwritten(func() { w.wantAccepted(w.unverified("m1", body), "duplicate", "", true) })
	}
	w.wantLookUps(1)
}

// TestUnverifiedTooSoon: another unverified delivery within the gap costs no look-up. The operation
// becomes due, so that the next pass looks it up.
func TestUnverifiedTooSoon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.batch("a", geminisim.StateRunning)
	w.register(name)
	w.wantAccepted(w.unverified("m1", event("batch.running", name, t1)), "applied", "advanced", true)
	w.set(name, geminisim.StateSucceeded)
	w.clock.Advance(gap - time.Second)
	if due := w.show(w.key(name)).Record.DueAt; !due.After(w.clock.Now()) {
		t.Fatalf("due at %s already", due)
	}
	w.logged()
	for range 3 { // however often
		w.wantAccepted(w.unverified("m2", event("batch.succeeded", name, t1)), "ignored", "due-now", true)
		w.wantLog(map[string]any{"event": "ingest", "outcome": "ignored", "reason": "due-now", "delivery": "m2"})
	}
	w.wantLookUps(1)
	if due := w.show(w.key(name)).Record.DueAt; !due.Equal(w.clock.Now()) {
		t.Errorf("due at %s, want %s", due, w.clock.Now())
	}
	// once is enough
	w.unwritten(func() {
		w.wantAccepted(w.unverified("m3", event("batch.succeeded", name, t1)), "ignored", "due-now", true)
	})

	w.clock.Advance(time.Second)
	w.wantAccepted(w.unverified("m2", event("batch.succeeded", name, t1)), "applied", "advanced", true)
	w.unwritten(func() {
		w.wantAccepted(w.unverified("m4", event("batch.failed", name, t1)), "ignored", "settled", true)
	})
	w.wantLookUps(1)
}

// TestUnverifiedTooSoonUnregistered: no pass looks up an unregistered operation, so an unverified
// delivery within the gap is answered 503.
func TestUnverifiedTooSoonUnregistered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.batch("a", geminisim.StateRunning)
	w.wantAccepted(w.unverified("m1", event("batch.running", name, t1)), "applied", "advanced", false)
	w.set(name, geminisim.StateSucceeded)
	w.unwritten(func() { w.want503(w.unverified("m2", event("batch.succeeded", name, t1)), 30) })
	all := w.logged()
	if last := all[len(all)-1]; last["reason"] != "asked-lately" || last["severity"] != "WARNING" {
		t.Errorf("logged %v", last)
	}
	w.clock.Advance(gap)
	w.wantAccepted(w.unverified("m2", event("batch.succeeded", name, t1)), "applied", "advanced", false)
}

// TestUnverifiedAbandoned: no pass looks up an abandoned operation, and its completion still counts
// [R4]: an unverified delivery is answered 503 until a look-up finds the completion.
func TestUnverifiedAbandoned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.batch("a", geminisim.StateRunning)
	w.register(name)
	if _, err := w.ledger.Operations.Abandon(t.Context(), w.key(name),
		ledger.Decision{By: "me", Why: "too slow"}); err != nil {
		t.Fatal(err)
	}
	end := event("batch.succeeded", name, t1)
	w.unwritten(func() { w.want503(w.unverified("m1", end), 30) })
	w.wantLog(map[string]any{"event": "ingest", "outcome": "unconfirmed", "reason": "not-yet"})
	w.unwritten(func() { w.want503(w.unverified("m1", end), 30) })
	w.wantLog(map[string]any{"event": "ingest", "outcome": "unconfirmed", "reason": "asked-lately"})
	w.set(name, geminisim.StateSucceeded)
	w.clock.Advance(gap)
	w.wantAccepted(w.unverified("m1", end), "applied", "advanced", true)
	if n := len(w.outbox.All()); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
}

// TestUnverifiedAbandonedAndNotFound: an unverified delivery for an abandoned operation is also
// answered 503 where Gemini does not find it, as was seen for days with a live one. For an
// operation that passes look up it is answered 200.
func TestUnverifiedAbandonedAndNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.register("interactions/gone")
	end := event("interaction.completed", "gone", t1)
	w.wantAccepted(w.unverified("m1", end), "ignored", "not-found", true)
	if _, err := w.ledger.Operations.Abandon(t.Context(), "interactions/gone",
		ledger.Decision{By: "me", Why: "not found"}); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(gap)
	w.unwritten(func() { w.want503(w.unverified("m1", end), 30) })
}

// TestUnverifiedEndTooEarly: where an unverified delivery reports an end and Gemini still reports
// RUNNING, the operation becomes due: the delivery was accepted and is not repeated.
func TestUnverifiedEndTooEarly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.batch("a", geminisim.StateRunning)
	w.register(name)
	w.wantAccepted(w.unverified("m1", event("batch.succeeded", name, t1)), "applied", "advanced", true)
	w.wantState(name, operation.Running)
	if due := w.show(w.key(name)).Record.DueAt; !due.Equal(w.clock.Now()) {
		t.Errorf("applied: due at %s, want %s", due, w.clock.Now())
	}
	// A pass has looked the operation up; now the answer is nothing new.
	w.clock.Advance(gap)
	w.postponed(w.key(name))
	w.wantAccepted(w.unverified("m2", event("batch.succeeded", name, t1)), "dropped", "stale-or-equal-update-time", true)
	if due := w.show(w.key(name)).Record.DueAt; !due.Equal(w.clock.Now()) {
		t.Errorf("dropped: due at %s, want %s", due, w.clock.Now())
	}
}

// TestUnverifiedWithoutKey: without an API key an unverified delivery is answered 503 and a signed
// one is ingested. Once there is a key the former is confirmed, without a restart.
func TestUnverifiedWithoutKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{noKey: 1})
	name := w.batch("a", geminisim.StateSucceeded)
	w.register(name)
	w.unwritten(func() {
		r := w.unverified("m1", event("batch.succeeded", name, t1))
		if r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" ||
			strings.Contains(r.Body.Error.Message, "Manager") {
			t.Errorf("%d %v %+v", r.Status, r.Header, r.Body)
		}
	})
	w.wantLog(map[string]any{"event": "ingest", "outcome": "unconfirmed", "reason": confirm.NoClient})
	w.wantAccepted(w.deliver("m2", event("batch.running", name, t0)), "applied", "advanced", true)
	w.clock.Set(w.clock.Now().Add(gap))
	w.wantAccepted(w.unverified("m1", event("batch.succeeded", name, t1)), "applied", "advanced", true)
}
