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

// gap is for how long one look-up serves all unverified deliveries about an operation.
const gap = confirm.DefaultGap

// TestUnverifiedLies: nothing is written from an unsigned body. It only causes a look-up of the
// operation that it names, whose answer is ingested [M7].
func TestUnverifiedLies(t *testing.T) {
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
			w.wantAccepted(w.unverified("m1", c.body(name)), "applied", "advanced", true)
			w.wantLookUps(1)
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

// TestUnverifiedAboutAnother: a body that names another caller's operation, by name or correlation
// id, causes a look-up of that operation, and changes nothing of the sender's own.
func TestUnverifiedAboutAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	mine, other := w.batch("mine", geminisim.StateRunning), w.batch("other", geminisim.StateRunning)
	w.register(mine)
	registration := ledger.Registration{Submission: operation.Submission{CorrelationID: "job-other"}}
	registration.Name.Key, registration.Name.Resource = w.key(other), other
	if _, err := w.ledger.Operations.Register(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	w.wantAccepted(w.unverified("m1", event("batch.failed", other, t2)), "applied", "advanced", true)
	w.wantState(other, operation.Running)
	w.wantState(mine, operation.Pending)

	// By the id alone, which only helps to find the operation [K6].
	w.clock.Advance(gap)
	w.set(other, geminisim.StateSucceeded)
	body := `{"type":"batch.failed","data":{"id":"another-form","user_metadata":{"opledger_correlation_id":"job-other"}}}`
	w.wantAccepted(w.unverified("m2", body), "applied", "advanced", true)
	w.wantState(other, operation.Succeeded)
	w.wantState(mine, operation.Pending)
	w.wantLookUps(2)
}

// TestUnverifiedAboutNothing: no record is created for an operation that Gemini does not know,
// whatever the body says. A repeated delivery is answered the same.
func TestUnverifiedAboutNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	for id, c := range map[string]struct{ body, reason string }{
		"unknown": {event("batch.succeeded", "batches/unknown", t1), "not-found"},
		"correlated": {`{"type":"batch.failed","data":{"id":"batches/none",` +
			`"user_metadata":{"opledger_correlation_id":"job-7"}}}`,
			"not-found"},
		"interaction": {event("interaction.completed", "v1_none", t1), "not-found"},
		"a bad name":  {event("batch.succeeded", "batches/a?b", t1), "invalid-name"},
		"elsewhere":   {event("batch.succeeded", "projects/p/locations/us/batchPredictionJobs/7", t1), "unsupported"},
	} {
		w.unwritten(func() { w.wantAccepted(w.unverified(id, c.body), "ignored", c.reason, false) })
		w.wantLog(map[string]any{"event": "ingest", "outcome": "ignored", "reason": c.reason, "delivery": id, "bound": false})
	}
	w.clock.Advance(gap)
	w.unwritten(func() {
		w.wantAccepted(w.unverified("unknown", event("batch.succeeded", "batches/unknown", t1)), "ignored", "not-found",
			false)
	})

	// A registered operation that Gemini does not find is not ended by that [R4].
	w.register("batches/mine")
	w.unwritten(func() {
		w.wantAccepted(w.unverified("mine", event("batch.succeeded", "batches/mine", t1)), "ignored", "not-found", true)
	})
}

// TestUnverifiedUnregistered: an unregistered operation that Gemini knows is recorded as
// unregistered, and plans no effect [W5].
func TestUnverifiedUnregistered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.batch("a", geminisim.StateSucceeded)
	w.wantAccepted(w.unverified("m1", event("batch.succeeded", name, t1)), "applied", "advanced", false)
	w.wantState(name, operation.Succeeded)
	if n := len(w.outbox.All()); n != 0 {
		t.Errorf("%d effects of an unregistered operation", n)
	}
}

// TestUnverifiedWithIDOfLookup: the unsigned id of a delivery does not make a later look-up a
// duplicate.
func TestUnverifiedWithIDOfLookup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.create(aVideo, "v", geminisim.VideoRunning, "")
	w.register(name)
	w.wantAccepted(w.unverified("reconcile-FAILED", event("video.generated", name, t1)), "applied", "advanced", true)
	failed := lookup.Answer{State: operation.Failed, Result: operation.Result{ErrorCode: "filtered"}}
	receipt, err := w.ledger.Operations.Ingest(t.Context(), failed.Event(operation.Name{Key: w.key(name), Resource: name}))
	if err != nil || receipt.Outcome != ledger.Applied || receipt.State != operation.Failed {
		t.Errorf("W4: %+v %v, want it applied", receipt, err)
	}
}

// TestUnverifiedUnreadable: an unverified delivery that names no operation is answered 200 and not
// quarantined: a holder of one token could fill the quarantine [W6].
func TestUnverifiedUnreadable(t *testing.T) {
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
			w.unwritten(func() { w.wantAccepted(w.unverified(id, c.body), "ignored", c.reason, false) })
			w.wantLog(map[string]any{"event": "ingest", "outcome": "ignored", "reason": c.reason, "delivery": id,
				"bound": false})
		}
	}
	w.wantLookUps(0)
}

// TestConfirm: the table of OPLEDGER_CONFIRM: which deliveries are ingested and which are looked
// up. Each reports SUCCEEDED, and Gemini reports RUNNING.
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
				deliver = w.unverified
			}
			if c.asked > 0 {
				want = operation.Running
			}
			w.wantAccepted(deliver("m1", event("batch.succeeded", name, t1)), "applied", "advanced", true)
			w.wantLookUps(c.asked)
			w.wantState(name, want)

			// Only a signed body is quarantined [W6].
			kept := map[bool]string{false: "quarantined", true: "ignored"}[c.token]
			w.wantAccepted(deliver("m2", "{"), kept, "malformed", false)
			if listed, err := w.ledger.Quarantine.List(t.Context(), ledger.QuarantineFilter{Limit: 9}); err != nil ||
				len(listed.Items) > 0 == c.token {
				t.Errorf("in quarantine: %+v, %v", listed, err)
			}
		})
	}
}

// TestSignedAndNotConfirmable: a signed event of a kind without look-ups is ingested even where all
// deliveries are confirmed, because nothing else settles the operation [K2]. An unsigned one is
// not.
func TestSignedAndNotConfirmable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{confirm: trust.Always})
	w.register("batchJobs/a")
	end := event("batch.succeeded", "batchJobs/a", t1)
	w.wantAccepted(w.unverified("m1", end), "ignored", "unsupported", true)
	w.clock.Advance(gap)
	w.wantAccepted(w.deliver("m2", end), "applied", "advanced", true)
	w.wantState("batchJobs/a", operation.Succeeded)
	w.wantAccepted(w.deliver("m3", event("batch.succeeded", "batches/a?b", t1)), "applied", "advanced", false)
	w.wantAccepted(w.deliver("m4", event("batch.succeeded", "batches/unknown", t1)), "ignored", "not-found", false)
}

// TestKinds: videos and interactions are looked up too, including their ends for which Gemini sends
// no event.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, kind, event string
		state             geminisim.State
		want              operation.State
		code              string
	}{
		{"video", aVideo, "video.generated", geminisim.VideoSucceeded, operation.Succeeded, ""},
		{"video that failed", aVideo, "video.generated", geminisim.VideoFailed, operation.Failed, "INTERNAL"},
		{"video that was filtered", aVideo, "video.generated", geminisim.VideoFiltered, operation.Failed, "filtered"},
		{"video that runs", aVideo, "video.generated", geminisim.VideoRunning, operation.Running, ""},
		{"interaction", interactions, "interaction.completed", geminisim.InteractionCompleted, operation.Succeeded, ""},
		{"interaction that failed", interactions, "interaction.completed", geminisim.InteractionFailed, operation.Failed,
			"INTERNAL"},
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
			w.wantAccepted(w.unverified("m1", event(c.event, name, t1)), "applied", "advanced", true)
			w.wantLookUps(1)
			rec := w.show(w.key(name)).Record
			if rec.State != c.want || rec.Result.ErrorCode != c.code {
				t.Errorf("%s %+v, want %s %q", rec.State, rec.Result, c.want, c.code)
			}
		})
	}
}

// TestBareIDs: a body that has only the operation's bare id is confirmed under the name in the
// ledger [K2, K5].
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
		w.wantAccepted(w.unverified(c.event, event(c.event, name[strings.LastIndex(name, "/")+1:], t1)), "applied",
			"advanced", true)
		w.wantState(name, operation.Succeeded)
	}
}
