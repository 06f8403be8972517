package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// gap is how long an operation is not asked about because of another hint.
const gap = confirm.DefaultGap

// TestHintLies: of an unsigned body nothing is believed but that it is worth asking about the operation that it names;
// what Gemini says is taken in [M7].
func TestHintLies(t *testing.T) {
	t.Parallel()
	const lie = `"output_file_uri":"files/evil","error_code":"666","error_message":"evil"`
	tomorrow := "2026-01-23T12:00:00Z"
	for _, c := range []struct {
		name   string
		gemini geminisim.State
		body   func(name string) string
		want   operation.State
	}{
		{"an end that is none", geminisim.StateRunning, func(name string) string { return event("batch.succeeded", name, tomorrow) }, operation.Running},
		{"another end", geminisim.StateFailed, func(name string) string { return event("batch.succeeded", name, tomorrow) }, operation.Failed},
		{"no end", geminisim.StateSucceeded, func(name string) string { return event("batch.running", name, tomorrow) }, operation.Succeeded},
		{"another result", geminisim.StateSucceeded, func(name string) string {
			return fmt.Sprintf(`{"type":"batch.succeeded","timestamp":%q,"data":{"id":%q,%s}}`, tomorrow, name, lie)
		}, operation.Succeeded},
		{"another error", geminisim.StateFailed, func(name string) string {
			return fmt.Sprintf(`{"type":"batch.failed","timestamp":%q,"data":{"id":%q,%s}}`, tomorrow, name, lie)
		}, operation.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			name := w.batch("a", c.gemini)
			w.register(name)
			w.took(w.hint("m1", c.body(name)), "applied", "advanced", true)
			w.wantAsked(1)
			truth, rec := w.sim.Batches()[0], w.show(w.key(name)).Record
			if rec.State != c.want || !rec.UpdateTime.Equal(operation.Instant(truth.UpdateTime)) || rec.Result.OutputFile != truth.ResultFile {
				t.Errorf("%+v, want %s as in %+v", rec, c.want, truth)
			}
			for path, document := range w.stored() {
				if strings.Contains(document, "evil") || strings.Contains(document, "666") {
					t.Errorf("%s keeps what was not signed: %s", path, document)
				}
			}
		})
	}
}

// TestHintAboutAnother: a body about another caller's operation, under a name or a correlation id, brings that
// operation what Gemini says of it, and the sender's own nothing.
func TestHintAboutAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	mine, other := w.batch("mine", geminisim.StateRunning), w.batch("other", geminisim.StateRunning)
	w.register(mine)
	registration := ledger.Registration{CorrelationID: "job-other"}
	registration.Name.Key, registration.Name.Resource = w.key(other), other
	if _, err := w.ledger.Register(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	w.took(w.hint("m1", event("batch.failed", other, t2)), "applied", "advanced", true)
	w.wantState(other, operation.Running)
	w.wantState(mine, operation.Pending)

	// By the id alone, which only helps to find the operation [K6].
	w.clock.advance(gap)
	w.set(other, geminisim.StateSucceeded)
	body := `{"type":"batch.failed","data":{"id":"another-form","user_metadata":{"opledger_correlation_id":"job-other"}}}`
	w.took(w.hint("m2", body), "applied", "advanced", true)
	w.wantState(other, operation.Succeeded)
	w.wantState(mine, operation.Pending)
	w.wantAsked(2)
}

// TestHintAboutAnotherOfOneID: a hint whose name Gemini issued is about that operation, whatever id
// stands beside it; the one that was registered with the id is asked about at the next pass, also
// where Gemini does not know the name [K6].
func TestHintAboutAnotherOfOneID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	mine, other := w.batch("mine", geminisim.StateRunning), w.batch("other", geminisim.StateSucceeded)
	registration := ledger.Registration{CorrelationID: "job-1"}
	registration.Name.Key, registration.Name.Resource = w.key(mine), mine
	if _, err := w.ledger.Register(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	for id, c := range map[string]struct{ name, outcome, reason string }{
		"known":   {other, "applied", "advanced"},
		"unknown": {"batches/0123456789abcdefghijklmnopqrstuvwxyz", "ignored", "not-found"},
	} {
		w.postponed(w.key(mine))
		body := fmt.Sprintf(`{"type":"batch.failed","data":{"id":%q,"user_metadata":{"opledger_correlation_id":"job-1"}}}`, c.name)
		w.took(w.hint(id, body), c.outcome, c.reason, false)
		w.wantState(mine, operation.Pending)
		if due := w.show(w.key(mine)).Record.DueAt; !due.Equal(w.clock.Now()) {
			t.Errorf("%s: due at %s, want %s", id, due, w.clock.Now())
		}
		w.clock.advance(gap)
	}
	w.wantState(other, operation.Succeeded)
	w.wantAsked(2)
}

// postponed takes the one operation that is waited for, as a pass does.
func (w *world) postponed(key operation.Key) {
	w.Helper()
	if _, err := w.ledger.Hasten(w.Context(), key); err != nil {
		w.Fatal(err)
	}
	found, err := w.ledger.DueOperations(w.Context(), w.clock.Now(), ledger.Cursor{}, 1)
	if err != nil || len(found.Items) != 1 {
		w.Fatalf("%+v, %v", found, err)
	}
	if _, err := w.ledger.Postpone(w.Context(), found.Items[0], w.clock.Now()); err != nil {
		w.Fatal(err)
	}
}

// TestHintAboutNothing: of what Gemini does not know nothing is created, whatever the body says; a later delivery is
// told the same.
func TestHintAboutNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	for id, c := range map[string]struct{ body, reason string }{
		"nobody":      {event("batch.succeeded", "batches/nobody", t1), "not-found"},
		"correlated":  {`{"type":"batch.failed","data":{"id":"batches/none","user_metadata":{"opledger_correlation_id":"job-7"}}}`, "not-found"},
		"interaction": {event("interaction.completed", "v1_nobody", t1), "not-found"},
		"a bad name":  {event("batch.succeeded", "batches/a?b", t1), "invalid-name"},
		"elsewhere":   {event("batch.succeeded", "projects/p/locations/us/batchPredictionJobs/7", t1), "unsupported"},
	} {
		w.unwritten(func() { w.took(w.hint(id, c.body), "ignored", c.reason, false) })
		w.wantLog(map[string]any{"event": "ingest", "outcome": "ignored", "reason": c.reason, "delivery": id, "bound": false})
	}
	w.clock.advance(gap)
	w.unwritten(func() {
		w.took(w.hint("nobody", event("batch.succeeded", "batches/nobody", t1)), "ignored", "not-found", false)
	})

	// A registered operation that Gemini does not find is not ended by that [R4].
	w.register("batches/mine")
	w.unwritten(func() {
		w.took(w.hint("mine", event("batch.succeeded", "batches/mine", t1)), "ignored", "not-found", true)
	})
}

// TestHintUnregistered: an operation that Gemini knows and that was never registered is recorded as such, and runs no
// effect [W5].
func TestHintUnregistered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.batch("a", geminisim.StateSucceeded)
	w.took(w.hint("m1", event("batch.succeeded", name, t1)), "applied", "advanced", false)
	w.wantState(name, operation.Succeeded)
	if n := len(w.outbox.All()); n != 0 {
		t.Errorf("%d effects of an unregistered operation", n)
	}
}

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
		{"429", "rate-limited", geminisim.Answer{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"77"}}, Body: []byte("{}")}, 77},
		{"429 soon", "rate-limited", geminisim.Answer{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1"}}, Body: []byte("{}")}, 30},
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
				"event": "ingest", "outcome": "unconfirmed", "reason": c.reason, "severity": "WARNING", "operation": name, "delivery": "m1",
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
	w.unwritten(func() { w.took(w.hint("m3", event("batch.succeeded", name, t1)), "ignored", "due-now", true) }) // once is enough

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
	if _, err := w.ledger.Abandon(t.Context(), "interactions/gone", ledger.Abandonment{By: "me", Why: "not found"}); err != nil {
		t.Fatal(err)
	}
	w.clock.advance(gap)
	w.unwritten(func() { w.wantAgain(w.hint("m1", end), 30) })
}

// TestHintWithTheIDOfALookup: a hint's unsigned id does not stand in the way of what reconciliation learns later.
func TestHintWithTheIDOfALookup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.create(aVideo, "v", geminisim.VideoRunning, "")
	w.register(name)
	w.took(w.hint("reconcile-FAILED", event("video.generated", name, t1)), "applied", "advanced", true)
	failed := lookup.Answer{State: operation.Failed, Result: operation.Result{ErrorCode: "filtered"}}
	receipt, err := w.ledger.Ingest(t.Context(), failed.Event(operation.Name{Key: w.key(name), Resource: name}))
	if err != nil || receipt.Outcome != ledger.Applied || receipt.State != operation.Failed {
		t.Errorf("W4: %+v %v, want it applied", receipt, err)
	}
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

// TestHintUnreadable: a hint that names nothing is answered 200 and kept nowhere: who has seen one token could fill the
// quarantine [W6].
func TestHintUnreadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	for id, c := range map[string]struct{ body, reason string }{
		"empty":   {"", "malformed"},
		"cut":     {`{"type":"batch.succ`, "malformed"},
		"no name": {`{"type":"batch.succeeded"}`, "malformed"},
		"ping":    {`{"type":"webhook.ping"}`, "unknown-type"},
		"new":     {event("batch.archived", "batches/a", t1), "unknown-type"},
		"noise":   {"\xff\x00", "malformed"},
	} {
		for range 2 {
			w.unwritten(func() { w.took(w.hint(id, c.body), "ignored", c.reason, false) })
			w.wantLog(map[string]any{"event": "ingest", "outcome": "ignored", "reason": c.reason, "delivery": id, "bound": false})
		}
	}
	w.wantAsked(0)
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
		if r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || strings.Contains(r.Body.Error.Message, "Manager") {
			t.Errorf("%d %v %+v", r.Status, r.Header, r.Body)
		}
	})
	w.wantLog(map[string]any{"event": "ingest", "outcome": "unconfirmed", "reason": confirm.NoClient})
	w.took(w.deliver("m2", event("batch.running", name, t0)), "applied", "advanced", true)
	w.clock.Set(w.clock.Now().Add(gap))
	w.took(w.hint("m1", event("batch.succeeded", name, t1)), "applied", "advanced", true)
}
