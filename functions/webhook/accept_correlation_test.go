package webhook_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/trust"
)

// TestCorrelationID: a signed event under a name that Gemini did not issue is applied to the
// operation that was registered with its correlation id, and counted. An event under an issued name
// is applied to that operation alone [K6, W5].
func TestCorrelationID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	const body = `{"type":"batch.succeeded","timestamp":%q,"data":{"id":%q,"output_file_uri":"files/of-%s",
		"user_metadata":{"opledger_correlation_id":"job-1"}}}`
	const mine, other = "batches/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "batches/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	registration := ledger.Registration{Submission: operation.Submission{CorrelationID: "job-1"}}
	registration.Name.Key, registration.Name.Resource = mine, mine
	if _, err := w.ledger.Operations.Register(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	w.postponed(mine)
	w.wantAccepted(w.deliver("m1", fmt.Sprintf(body, t1, other, "b")), "applied", "advanced", false)
	w.wantLog(map[string]any{"operation": other, "disputed": mine, "correlated": nil})
	rec := w.show(mine).Record
	if rec.State != "PENDING" || !rec.DueAt.Equal(w.clock.Now()) || len(w.outbox.All()) != 0 {
		t.Errorf("%+v, want it PENDING and due", rec)
	}
	w.wantAccepted(w.deliver("m2", fmt.Sprintf(body, t1, "batch_123456", "a")), "applied", "advanced", true)
	w.wantLog(map[string]any{"operation": mine, "disputed": nil, "correlated": true})
	if rec := w.show(mine).Record; rec.State != "SUCCEEDED" || rec.Result.OutputFile != "files/of-a" {
		t.Errorf("%+v", rec)
	}
	w.wantLookUps(0)
}

// TestTwin: a delivery about a second batch of a job's part is accepted, and the first one raises an alert [J2].
func TestTwin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	const own, twin = "batches/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "batches/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	part := job.Part{Key: "jobs/nightly/00001"}
	submitted, err := w.ledger.Jobs.Submit(t.Context(), ledgertest.JobRequest(1, job.Options{}))
	if err == nil {
		_, err = w.ledger.Jobs.Bind(t.Context(), part, submitted.Job, operation.Name{Key: own, Resource: own})
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{"m1", "m2"} {
		body := fmt.Sprintf(`{"type":"batch.succeeded","timestamp":%q,"data":{"id":%q,`+
			`"user_metadata":{"opledger_correlation_id":%q}}}`, t1, twin, part.Key)
		if answer := w.deliver(id, body); answer.Status != http.StatusOK {
			t.Errorf("%s: %+v", id, answer)
		}
		alerts := slices.DeleteFunc(w.logged(), func(line map[string]any) bool { return line["reason"] != "twin" })
		if want := 1 - i; len(alerts) != want || want > 0 && alerts[0]["operation"] != twin {
			t.Errorf("%s: the alerts are %v, want %d", id, alerts, want)
		}
	}
}

// TestCanaryIsNoException: a delivery that settles an operation is answered 200 once it is stored,
// also where the operation has a correlation id such as a canary takes [W3].
func TestCanaryIsNoException(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	registration := ledger.Registration{Submission: operation.Submission{CorrelationID: operation.CanaryPrefix + "1"}}
	registration.Name.Key, registration.Name.Resource = "batches/a", "batches/a"
	if _, err := w.ledger.Operations.Register(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	const body = `{"type":"batch.succeeded","timestamp":"2026-01-22T12:00:00Z","data":{"id":"batches/a"}}`
	w.wantAccepted(w.deliver("m1", body), "applied", "advanced", true)
	w.wantAccepted(w.deliver("m1", body), "duplicate", "", true)
}

// TestUnverifiedOtherNameSameID: an unverified delivery whose name Gemini issued is about that
// operation, whatever correlation id it has. The operation registered with that id becomes due,
// also where Gemini does not know the name [K6].
func TestUnverifiedOtherNameSameID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	mine, other := w.batch("mine", geminisim.StateRunning), w.batch("other", geminisim.StateSucceeded)
	registration := ledger.Registration{Submission: operation.Submission{CorrelationID: "job-1"}}
	registration.Name.Key, registration.Name.Resource = w.key(mine), mine
	if _, err := w.ledger.Operations.Register(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	for id, c := range map[string]struct{ name, outcome, reason string }{
		"known":   {other, "applied", "advanced"},
		"unknown": {"batches/0123456789abcdefghijklmnopqrstuvwxyz", "ignored", "not-found"},
	} {
		w.postponed(w.key(mine))
		body := fmt.Sprintf(`{"type":"batch.failed","data":{"id":%q,"user_metadata":{"opledger_correlation_id":"job-1"}}}`,
			c.name)
		w.wantAccepted(w.unverified(id, body), c.outcome, c.reason, false)
		w.wantState(mine, operation.Pending)
		if due := w.show(w.key(mine)).Record.DueAt; !due.Equal(w.clock.Now()) {
			t.Errorf("%s: due at %s, want %s", id, due, w.clock.Now())
		}
		w.clock.Advance(gap)
	}
	w.wantState(other, operation.Succeeded)
	w.wantLookUps(2)
}

// postponed postpones the one pending operation, as a pass does.
func (w *world) postponed(key operation.Key) {
	w.Helper()
	if _, err := w.ledger.Operations.MakeDueNow(w.Context(), key); err != nil {
		w.Fatal(err)
	}
	found, err := w.ledger.Operations.Due(w.Context(), w.clock.Now(), ledger.Cursor{}, 1)
	if err != nil || len(found.Items) != 1 {
		w.Fatalf("%+v, %v", found, err)
	}
	if _, err := w.ledger.Passes.ClaimLookUp(w.Context(), found.Items[0], w.clock.Now()); err != nil {
		w.Fatal(err)
	}
}

// TestConfirmedCorrelation: a correlation id binds an open intent only where the sender is trusted
// for it: in a signed body, or in the token's claims. An id in an unsigned body binds nothing [K6,
// G6].
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
		{"claims, and another in the body", false, "job-8",
			map[string]any{"user_metadata": map[string]any{"opledger_correlation_id": id}}, true},
		{"unsigned body", false, id, nil, false},
		{"unsigned body, and another in the claims", false, id,
			map[string]any{"user_metadata": map[string]any{"opledger_correlation_id": "job-8"}}, false},
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
			if _, err := w.ledger.Intents.Intend(t.Context(), ledger.Intention{
				Submission: operation.Submission{CorrelationID: id},
			}); err != nil {
				t.Fatal(err)
			}
			body := fmt.Sprintf(`{"type":"video.generated","data":{"id":%q,"user_metadata":{"opledger_correlation_id":%q}}}`,
				name, c.inBody)
			var r reply
			if c.always {
				r = w.deliver("m1", body)
			} else {
				r = w.request(http.MethodPost, w.tokened("m1", w.token(c.claims, geminisim.TokenOptions{})),
					strings.NewReader(body))
			}
			w.wantAccepted(r, "applied", "advanced", c.bound)
			w.wantState(name, operation.Succeeded)
			intent, err := w.ledger.Intents.Intend(t.Context(), ledger.Intention{
				Submission: operation.Submission{CorrelationID: id},
			}) // returns what is stored
			want := map[bool]ledger.IntentState{true: ledger.IntentBound, false: ledger.IntentOpen}[c.bound]
			if err != nil || intent.State != want || c.bound != (intent.Operation == w.key(name)) {
				t.Errorf("%+v, %v, want %s", intent, err, want)
			}
		})
	}
}

// TestClaimedCorrelation: an id that is only in the claims finds its operation, whatever form of
// the name the body has [K6].
func TestClaimedCorrelation(t *testing.T) {
	t.Parallel()
	for _, policy := range []trust.Policy{trust.Dynamic, trust.Never} {
		w := newWorld(t, options{confirm: policy})
		name := w.create(aBatch, "a", geminisim.StateSucceeded, "")
		registration := ledger.Registration{Submission: operation.Submission{CorrelationID: "job-7"}}
		registration.Name.Key, registration.Name.Resource = w.key(name), name
		if _, err := w.ledger.Operations.Register(t.Context(), registration); err != nil {
			t.Fatal(err)
		}
		claims := map[string]any{"user_metadata": map[string]any{"opledger_correlation_id": "job-7"}}
		r := w.request(http.MethodPost, w.tokened("m1", w.token(claims, geminisim.TokenOptions{})),
			strings.NewReader(event("batch.succeeded", "another-form", t1)))
		w.wantAccepted(r, "applied", "advanced", true)
		w.wantState(name, operation.Succeeded)
	}
}
