package webhook_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/operation"
)

// audience is that of the simulated Gemini's tokens.
const audience = "https://receiver.example/webhook"

// openGemini starts the simulated Gemini.
func (w *world) openGemini(o options) {
	w.Helper()
	w.sim = geminisim.New(geminisim.Config{Now: w.clock.Now, Audience: audience, MetadataIn: o.placed})
	w.api = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != geminisim.JWKSPath {
			w.asked.Add(1)
			w.held.RLock()
			defer w.held.RUnlock()
		}
		w.sim.ServeHTTP(rw, r)
	}))
	w.Cleanup(func() {
		w.sim.Close()
		w.api.Close()
	})
}

// The kinds of job that Gemini makes, by how they are created.
const (
	aBatch       = `{"batch":{"displayName":%q,"inputConfig":{"fileName":"files/in"},"webhookConfig":%s}}`
	aVideo       = `{"instances":[{"prompt":%q}],"webhookConfig":%s}`
	interactions = `{"model":"m","input":%q,"background":true,"store":true,"webhook_config":%s}`
)

// create makes a job at Gemini that stays in a state, and returns its name. Gemini sends no events
// for it; the test delivers them.
func (w *world) create(kind, label string, state geminisim.State, correlationID string) string {
	w.Helper()
	w.sim.Script(label, geminisim.Script{Hold: state})
	path, key := map[string]string{
		aBatch: "models/m:batchGenerateContent", aVideo: "models/m:predictLongRunning", interactions: "interactions",
	}[kind], "userMetadata"
	if kind == interactions {
		key = "user_metadata"
	}
	metadata := "{}"
	if correlationID != "" {
		metadata = fmt.Sprintf(`{%q:{"opledger_correlation_id":%q}}`, key, correlationID)
	}
	r := httptest.NewRequestWithContext(w.Context(), http.MethodPost, "/v1beta/"+path,
		strings.NewReader(fmt.Sprintf(kind, label, metadata)))
	r.Header.Set("X-Goog-Api-Key", "key")
	answer := httptest.NewRecorder()
	w.sim.ServeHTTP(answer, r)
	var made struct{ Name, ID string }
	if err := json.Unmarshal(answer.Body.Bytes(), &made); err != nil || answer.Code != http.StatusOK {
		w.Fatalf("creating %s: %d %s", label, answer.Code, answer.Body)
	}
	if made.Name == "" {
		made.Name = "interactions/" + made.ID
	}
	return made.Name
}

// batch makes a batch that stays in a state.
func (w *world) batch(label string, state geminisim.State) string {
	w.Helper()
	return w.create(aBatch, label, state, "")
}

// set changes the state of a job at Gemini.
func (w *world) set(name string, state geminisim.State) {
	w.Helper()
	if err := w.sim.SetState(name, state); err != nil {
		w.Fatal(err)
	}
}

// token returns a token as Gemini makes them now, with the claims in change.
func (w *world) token(change map[string]any, o geminisim.TokenOptions) string {
	claims := w.sim.Claims(audience, nil)
	maps.Copy(claims, change)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	return w.sim.Token(claims, o)
}

// tokened returns the headers of a delivery with a token.
func (w *world) tokened(id, token string) http.Header {
	return http.Header{
		"Content-Type": {"application/json"}, "Webhook-Id": {id},
		"Webhook-Timestamp": {strconv.FormatInt(w.clock.Now().Unix(), 10)}, "Webhook-Signature": {token},
	}
}

// unverified delivers a body with a token of Gemini's, which does not sign the body.
func (w *world) unverified(id, body string) reply {
	w.Helper()
	return w.request(http.MethodPost, w.tokened(id, w.token(nil, geminisim.TokenOptions{})), bytes.NewReader([]byte(body)))
}

// key returns the ledger's key of an operation.
func (w *world) key(name string) operation.Key {
	w.Helper()
	parsed, err := operation.ParseName(name, "")
	if err != nil {
		w.Fatal(err)
	}
	return parsed.Key
}

// wantState checks an operation's state in the ledger.
func (w *world) wantState(name string, want operation.State) {
	w.Helper()
	if got := w.show(w.key(name)).Record.State; got != want {
		w.Errorf("%s is %s in the ledger, want %s", name, got, want)
	}
}

// wantLookUps checks the number of look-ups at Gemini since the last call.
func (w *world) wantLookUps(want int64) {
	w.Helper()
	if got := w.asked.Swap(0); got != want {
		w.Errorf("Gemini was asked about operations %d times, want %d", got, want)
	}
}

// want503 checks that a delivery was answered 503 with a Retry-After of at least so many seconds.
func (w *world) want503(r reply, atLeast int) {
	w.Helper()
	if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); r.Status != http.StatusServiceUnavailable ||
		err != nil || seconds < atLeast {
		w.Errorf("%d, Retry-After %q, want 503 and at least %d: %+v", r.Status, r.Header.Get("Retry-After"), atLeast, r.Body)
	}
}
