package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/trust"
)

// intend records the intent of a submitter that has not registered its operation.
func (w *world) intend(id string, in operation.Collection) {
	w.Helper()
	if _, err := w.ledger.Intents.Intend(w.Context(), ledger.Intention{
		Submission: operation.Submission{CorrelationID: id}, Collection: in,
	}); err != nil {
		w.Fatal(err)
	}
}

// intent returns the intent of a correlation id.
func (w *world) intent(id string) ledger.Intent {
	w.Helper()
	intent, err := w.ledger.Intents.Read(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return intent
}

// vouched sends an unsigned body with a token whose claims have a correlation id.
func (w *world) vouched(delivery, id, body string) reply {
	w.Helper()
	claims := map[string]any{"user_metadata": map[string]any{"opledger_correlation_id": id}}
	return w.request(http.MethodPost, w.tokened(delivery, w.token(claims, geminisim.TokenOptions{})),
		strings.NewReader(body))
}

// TestNameKept: where a token's claims have the id of an open intent and Gemini does not know the
// name, the name is kept with the intent and the delivery is answered 200. Nothing is bound [G6].
func TestNameKept(t *testing.T) {
	t.Parallel()
	const name = "models/veo/operations/9p5ug42emn2z"
	w := newWorld(t, options{})
	w.intend("job-7", operation.Operations)
	body := event("video.generated", name, t1)
	w.wantAccepted(w.vouched("m1", "job-7", body), "kept", "not-found", false)
	w.wantLog(map[string]any{"event": "ingest", "outcome": "kept", "reason": "not-found",
		"operation": "operations/9p5ug42emn2z"})
	intent := w.intent("job-7")
	want := ledger.KeptName{Key: "operations/9p5ug42emn2z", Name: name, At: w.clock.Now()}
	if intent.State != ledger.IntentOpen || intent.Operation != "" || len(intent.Names) != 1 || intent.Names[0] != want {
		t.Errorf("%+v, want it to wait, with %+v", intent, want)
	}
	w.clock.Advance(gap)
	w.unwritten(func() { w.wantAccepted(w.vouched("m1", "job-7", body), "kept", "not-found", false) })
	w.wantLookUps(2)

	// No more names are kept than passes look up; a delivery with another is answered 503.
	for i := range 5 {
		r := w.vouched(fmt.Sprint("more-", i), "job-7", event("video.generated", fmt.Sprint("operations/v", i), t1))
		if i < 4 {
			w.wantAccepted(r, "kept", "not-found", false)
			continue
		}
		w.want503(r, 30)
	}
	if last := w.logged(); last[len(last)-1]["outcome"] != "unconfirmed" ||
		last[len(last)-1]["reason"] != confirm.TooManyNames {
		t.Errorf("logged %v", last[len(last)-1])
	}
	if n := len(w.intent("job-7").Names); n != 5 {
		t.Errorf("%d names", n)
	}
}

// TestNameNotKept: a name is not kept for an id that no claims have, for an id without an open
// intent, and for a registered operation.
func TestNameNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.intend("job-7", operation.Operations)
	w.register("operations/known")
	for delivery, c := range map[string]struct {
		id, name   string
		registered bool
	}{
		"m1": {"", "operations/a1", false},
		"m2": {"other", "operations/a2", false},
		"m3": {"job-7", "operations/known", true},
	} {
		body := fmt.Sprintf(`{"type":"video.generated","data":{"id":%q,`+
			`"user_metadata":{"opledger_correlation_id":"job-7"}}}`, c.name)
		w.unwritten(func() { w.wantAccepted(w.vouched(delivery, c.id, body), "ignored", "not-found", c.registered) })
	}
}

// TestSignedNameKept: a name is kept in the same way where a signed delivery has to be confirmed.
func TestSignedNameKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{confirm: trust.Always})
	w.intend("job-7", operation.Interactions)
	body := `{"type":"interaction.completed","data":{"id":"v1_abc","user_metadata":{"opledger_correlation_id":"job-7"}}}`
	w.wantAccepted(w.deliver("m1", body), "kept", "not-found", false)
	if names := w.intent("job-7").Names; len(names) != 1 || names[0].Key != "interactions/v1_abc" {
		t.Errorf("%+v", names)
	}
}

// TestVouchedWithoutAState: an operation that Gemini knows is bound to the intent whose id the
// claims have, even without a state. Without such an id the delivery is answered 503 [G6].
func TestVouchedWithoutAState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.batch("a", "BATCH_STATE_PAUSED")
	w.intend("job-7", operation.Batches)
	w.unwritten(func() { w.want503(w.unverified("m1", event("batch.succeeded", name, t1)), 30) })
	w.clock.Advance(gap)
	w.wantAccepted(w.vouched("m1", "job-7", event("batch.succeeded", name, t1)), "dropped", "lower-rank", true)
	intent, rec := w.intent("job-7"), w.show(w.key(name)).Record
	if intent.State != ledger.IntentBound || intent.Operation != w.key(name) || rec.State != operation.Pending ||
		!rec.DueAt.Equal(w.clock.Now()) {
		t.Errorf("%+v, %+v", intent, rec)
	}
}
