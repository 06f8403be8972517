package webhook_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/trust"
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
		{"an end that is none", geminisim.StateRunning,
			func(name string) string { return event("batch.succeeded", name, tomorrow) }, operation.Running},
		{"another end", geminisim.StateFailed, func(name string) string { return event("batch.succeeded", name, tomorrow) },
			operation.Failed},
		{"no end", geminisim.StateSucceeded, func(name string) string { return event("batch.running", name, tomorrow) },
			operation.Succeeded},
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
			if rec.State != c.want || !rec.UpdateTime.Equal(operation.Instant(truth.UpdateTime)) ||
				rec.Result.OutputFile != truth.ResultFile {
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
			w.wantLog(map[string]any{"event": "ingest", "outcome": "ignored", "reason": c.reason, "delivery": id,
				"bound": false})
		}
	}
	w.wantAsked(0)
}

// TestConfirm is the table of OPLEDGER_CONFIRM: which deliveries are believed, and about which Gemini is asked. Each
// says SUCCEEDED, and Gemini says RUNNING.
func TestConfirm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy trust.Policy
		token  bool
		asked  int64
	}{
		{trust.Never, false, 0}, {trust.Never, true, 0},
		{trust.Dynamic, false, 0}, {trust.Dynamic, true, 1},
		{trust.Always, false, 1}, {trust.Always, true, 1},
	} {
		t.Run(fmt.Sprintf("%s token=%t", c.policy, c.token), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{confirm: c.policy})
			name := w.batch("a", geminisim.StateRunning)
			w.register(name)
			deliver, want := w.deliver, operation.Succeeded
			if c.token {
				deliver = w.hint
			}
			if c.asked > 0 {
				want = operation.Running
			}
			w.took(deliver("m1", event("batch.succeeded", name, t1)), "applied", "advanced", true)
			w.wantAsked(c.asked)
			w.wantState(name, want)

			// Only what is signed is kept for a person [W6].
			kept := map[bool]string{false: "quarantined", true: "ignored"}[c.token]
			w.took(deliver("m2", "{"), kept, "malformed", false)
			if listed, err := w.ledger.ListQuarantined(t.Context(), ledger.QuarantineFilter{Limit: 9}); err != nil ||
				len(listed.Items) > 0 == c.token {
				t.Errorf("in quarantine: %+v, %v", listed, err)
			}
		})
	}
}

// TestSignedAndNotConfirmable: what is signed, and of a kind that Gemini cannot be asked about, is believed even
// where all deliveries are hints: nothing else would ever settle it [K2]. What is not signed is not.
func TestSignedAndNotConfirmable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{confirm: trust.Always})
	w.register("batchJobs/a")
	end := event("batch.succeeded", "batchJobs/a", t1)
	w.took(w.hint("m1", end), "ignored", "unsupported", true)
	w.clock.advance(gap)
	w.took(w.deliver("m2", end), "applied", "advanced", true)
	w.wantState("batchJobs/a", operation.Succeeded)
}

// TestKinds: videos and interactions are asked about, too, and what Gemini sends no event for is learned when it is
// asked.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, kind, event string
		state             geminisim.State
		want              operation.State
		code              string
	}{
		{"video", aVideo, "video.generated", geminisim.VideoSucceeded, operation.Succeeded, ""},
		{"video that failed", aVideo, "video.generated", geminisim.VideoFailed, operation.Failed, "13"},
		{"video that was filtered", aVideo, "video.generated", geminisim.VideoFiltered, operation.Failed, "filtered"},
		{"video that runs", aVideo, "video.generated", geminisim.VideoRunning, operation.Running, ""},
		{"interaction", interactions, "interaction.completed", geminisim.InteractionCompleted, operation.Succeeded, ""},
		{"interaction that failed", interactions, "interaction.completed", geminisim.InteractionFailed, operation.Failed,
			"internal"},
		{"interaction that is incomplete", interactions, "interaction.failed", geminisim.InteractionIncomplete,
			operation.Failed, "incomplete"},
		{"interaction that waits", interactions, "interaction.requires_action", geminisim.InteractionRequiresAction,
			operation.RequiresAction, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			name := w.create(c.kind, "x", c.state, "")
			w.register(name)
			w.took(w.hint("m1", event(c.event, name, t1)), "applied", "advanced", true)
			w.wantAsked(1)
			rec := w.show(w.key(name)).Record
			if rec.State != c.want || rec.Result.ErrorCode != c.code {
				t.Errorf("%s %+v, want %s %q", rec.State, rec.Result, c.want, c.code)
			}
		})
	}
}

// TestBareIDs: a body that names its operation by the bare id alone is confirmed under the name that the ledger has
// [K2, K5].
func TestBareIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	for _, c := range []struct {
		kind, event string
		state       geminisim.State
	}{
		{aBatch, "batch.succeeded", geminisim.StateSucceeded}, {aVideo, "video.generated", geminisim.VideoSucceeded},
		{interactions, "interaction.completed", geminisim.InteractionCompleted},
	} {
		name := w.create(c.kind, c.event, c.state, "")
		w.register(name)
		w.took(w.hint(c.event, event(c.event, name[strings.LastIndex(name, "/")+1:], t1)), "applied", "advanced", true)
		w.wantState(name, operation.Succeeded)
	}
}
