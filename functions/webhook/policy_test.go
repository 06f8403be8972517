package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/trust"
)

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
			if listed, err := w.ledger.ListQuarantined(t.Context(), ledger.QuarantineFilter{Limit: 9}); err != nil || len(listed.Items) > 0 == c.token {
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

// TestTooLargeAndNotSigned: what the store will never take and is not signed is dropped and answered 200: an error
// would bring it back [M8].
func TestTooLargeAndNotSigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{confirm: trust.Never})
	w.register("batches/a")
	body := fmt.Sprintf(`{"type":"batch.succeeded","data":{"id":"batches/a","output_file_uri":%q}}`, strings.Repeat("<", 300<<10))
	w.unwritten(func() { w.took(w.hint("large", body), "ignored", "refused-by-store", false) })
}

// TestConfirmedCorrelation: a correlation id binds an intent that waits for it where a trusted sender put it beside the
// operation's name: in a body that is signed, or in the token's claims. One in an unsigned body binds nothing [K6, G6].
func TestConfirmedCorrelation(t *testing.T) {
	t.Parallel()
	const id = "job-7"
	for _, c := range []struct {
		name   string
		always bool
		inBody string
		claims map[string]any
		bound  bool
	}{
		{"signed body", true, id, nil, true},
		{"claims", false, "", map[string]any{"user_metadata": map[string]any{"opledger_correlation_id": id}}, true},
		{"claims, and another in the body", false, "job-8", map[string]any{"user_metadata": map[string]any{"opledger_correlation_id": id}}, true},
		{"unsigned body", false, id, nil, false},
		{"unsigned body, and another in the claims", false, id, map[string]any{"user_metadata": map[string]any{"opledger_correlation_id": "job-8"}}, false},
		{"nowhere", false, "", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			policy := trust.Dynamic
			if c.always {
				policy = trust.Always
			}
			w := newWorld(t, options{confirm: policy})
			name := w.create(aVideo, "v", geminisim.VideoSucceeded, "")
			if _, err := w.ledger.Intend(t.Context(), ledger.Intention{CorrelationID: id}); err != nil {
				t.Fatal(err)
			}
			body := fmt.Sprintf(`{"type":"video.generated","data":{"id":%q,"user_metadata":{"opledger_correlation_id":%q}}}`, name, c.inBody)
			var r reply
			if c.always {
				r = w.deliver("m1", body)
			} else {
				r = w.request(http.MethodPost, w.tokened("m1", w.token(c.claims, geminisim.TokenOptions{})), strings.NewReader(body))
			}
			w.took(r, "applied", "advanced", c.bound)
			w.wantState(name, operation.Succeeded)
			intent, err := w.ledger.Intend(t.Context(), ledger.Intention{CorrelationID: id}) // returns what is stored
			want := map[bool]ledger.IntentState{true: ledger.IntentBound, false: ledger.IntentOpen}[c.bound]
			if err != nil || intent.State != want || c.bound != (intent.Operation == w.key(name)) {
				t.Errorf("%+v, %v, want %s", intent, err, want)
			}
		})
	}
}

// TestClaimedCorrelation: an id that stands in the claims alone finds its operation, whatever form of the name the
// body has [K6].
func TestClaimedCorrelation(t *testing.T) {
	t.Parallel()
	for _, policy := range []trust.Policy{trust.Dynamic, trust.Never} {
		w := newWorld(t, options{confirm: policy})
		name := w.create(aBatch, "a", geminisim.StateSucceeded, "")
		registration := ledger.Registration{CorrelationID: "job-7"}
		registration.Name.Key, registration.Name.Resource = w.key(name), name
		if _, err := w.ledger.Register(t.Context(), registration); err != nil {
			t.Fatal(err)
		}
		claims := map[string]any{"user_metadata": map[string]any{"opledger_correlation_id": "job-7"}}
		r := w.request(http.MethodPost, w.tokened("m1", w.token(claims, geminisim.TokenOptions{})),
			strings.NewReader(event("batch.succeeded", "another-form", t1)))
		w.took(r, "applied", "advanced", true)
		w.wantState(name, operation.Succeeded)
	}
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
		{"interaction that failed", interactions, "interaction.completed", geminisim.InteractionFailed, operation.Failed, "internal"},
		{"interaction that is incomplete", interactions, "interaction.failed", geminisim.InteractionIncomplete, operation.Failed, "incomplete"},
		{"interaction that waits", interactions, "interaction.requires_action", geminisim.InteractionRequiresAction, operation.RequiresAction, ""},
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
