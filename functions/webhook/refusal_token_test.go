package webhook_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/opledger/opledger/functions/webhook"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/trust"
	"github.com/opledger/opledger/test/harness"
)

// TestToken: a dynamic webhook's delivery has a token. One look-up confirms it, and the operation
// settles.
func TestToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.batch("a", geminisim.StateSucceeded)
	w.register(name)
	w.wantAccepted(w.unverified("m1", event("batch.succeeded", name, t1)), "applied", "advanced", true)
	w.wantLookUps(1)
	w.wantState(name, "SUCCEEDED")
	w.wantLog(map[string]any{"event": "ingest", "outcome": "applied", "delivery": "m1", "bound": false, "effects": 1.0,
		"source": "webhook"})
	story := w.show(w.key(name))
	if len(story.Deliveries) != 1 || story.Deliveries[0].ID != "m1" || story.Record.SettledBy != "webhook" ||
		len(w.outbox.All()) != 1 {
		t.Errorf("%+v", story)
	}
}

// TestTokenKeysRotate: a new key is fetched with the first token that it signed.
func TestTokenKeysRotate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.wantAccepted(w.unverified("m1", event("batch.succeeded", w.batch("a", geminisim.StateSucceeded), t1)), "applied",
		"advanced",
		false)
	w.sim.RotateJWKS()
	w.clock.Advance(time.Minute)
	w.wantAccepted(w.unverified("m2", event("batch.succeeded", w.batch("b", geminisim.StateSucceeded), t1)), "applied",
		"advanced",
		false)
	if n := w.sim.Stats().JWKSRequests; n != 2 {
		t.Errorf("the keys were fetched %d times, want 2", n)
	}
}

// TestTokenRefused: every refused token of the trust table is answered 401 and counted by its
// reason. Nothing is written and nothing looked up [W1, W2].
func TestTokenRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.batch("a", geminisim.StateSucceeded)
	w.register(name)
	good, now := w.token(nil, geminisim.TokenOptions{}), w.clock.Now()
	parts := strings.Split(good, ".")
	claim := func(change map[string]any) string { return w.token(change, geminisim.TokenOptions{}) }
	public := bytes.Repeat([]byte("public key"), 10)
	for _, c := range []struct {
		name, token, reason string
		header              http.Header // over that of the token
	}{
		{"another audience", claim(map[string]any{"aud": "https://other.example/"}), "signature", nil},
		{"no audience in the token", claim(map[string]any{"aud": nil}), "signature", nil},
		{"another key", w.token(nil, geminisim.TokenOptions{Key: geminisim.OtherKey()}), "signature", nil},
		{"an unknown key id", w.token(nil, geminisim.TokenOptions{KeyID: "other"}), "signature", nil},
		{"no key id", w.token(nil, geminisim.TokenOptions{KeyID: "-"}), "signature", nil},
		{"alg none", w.token(nil, geminisim.TokenOptions{Alg: "none"}), "signature", nil},
		{"HS256 with what is public", w.token(nil, geminisim.TokenOptions{Alg: jose.HS256, Key: public}), "signature", nil},
		{"RS512", w.token(nil, geminisim.TokenOptions{Alg: jose.RS512}), "signature", nil},
		{"other claims under the signature", parts[0] + "." + strings.Split(claim(map[string]any{"x": 1}), ".")[1] + "." +
			parts[2], "signature", nil},
		{"cut", good[:len(good)-8], "signature", nil},
		{"too long", claim(map[string]any{"x": strings.Repeat("x", 20<<10)}), "signature", nil},
		{"two tokens", good + " " + good, "signature", nil},
		{"no id", good, "signature", http.Header{"Webhook-Id": nil}},
		{"no timestamp", good, "signature", http.Header{"Webhook-Timestamp": nil}},
		{"expired", claim(map[string]any{"exp": now.Add(-5*time.Minute - time.Second).Unix()}), "stale-timestamp", nil},
		{"not valid yet", claim(map[string]any{"nbf": now.Add(5*time.Minute + time.Second).Unix()}), "stale-timestamp", nil},
		{"made in the future", claim(map[string]any{"iat": now.Add(5*time.Minute + time.Second).Unix()}), "stale-timestamp",
			nil},
		{"no end, and made 25 hours ago",
			claim(map[string]any{"exp": nil, "iat": now.Add(-25*time.Hour - time.Second).Unix()}), "old-token", nil},
		{"no time at all", claim(map[string]any{"exp": nil, "iat": nil}), "undated-token", nil},
		{"an old timestamp beside it", good, "stale-timestamp", http.Header{"Webhook-Timestamp": {"1700000000"}}},
		{"stale and forged", w.token(nil, geminisim.TokenOptions{Key: geminisim.OtherKey()}), "signature",
			http.Header{"Webhook-Timestamp": {"1700000000"}}},
	} {
		h := w.tokened("m1", c.token)
		for key, values := range c.header {
			h[key] = values
		}
		w.unwritten(func() {
			r := w.request(http.MethodPost, h, strings.NewReader(event("batch.succeeded", name, t1)))
			if r.Status != http.StatusUnauthorized || strings.Contains(r.Body.Error.Message, "eyJ") {
				t.Errorf("W1 %s: %d %+v, want 401", c.name, r.Status, r.Body)
			}
		})
		w.wantLog(map[string]any{"event": "auth", "outcome": "refused", "reason": c.reason, "severity": "WARNING",
			"source": "webhook"})
	}
	w.wantLookUps(0)
	// and nothing was remembered of m1
	w.wantAccepted(w.unverified("m1", event("batch.succeeded", name, t1)), "applied", "advanced", true)
}

// TestNoAudience: a genuine token where no audience is set is refused and counted apart: it is a
// mistake in the settings, which can be fixed while Gemini still redelivers.
func TestNoAudience(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{noAudience: true})
	w.unwritten(func() {
		if r := w.unverified("m1", event("batch.succeeded", w.batch("a", geminisim.StateSucceeded),
			t1)); r.Status != http.StatusUnauthorized {
			t.Errorf("%d, want 401", r.Status)
		}
	})
	w.wantLog(map[string]any{
		"event": "auth", "outcome": "refused", "reason": "no-audience",
		"error": "webhook signature does not fit: it is a token, and no accepted audience is set " +
			"(OPLEDGER_WEBHOOK_AUDIENCE)",
	})
	if n := w.sim.Stats().JWKSRequests; n != 0 {
		t.Errorf("the keys were fetched %d times", n)
	}
}

// TestKeysUnavailable: while the keys cannot be fetched a token is answered 503 [W3], and accepted
// once they can. What cannot be a token for this receiver is refused all the same.
func TestKeysUnavailable(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]geminisim.Answer{
		"5xx":       geminisim.ErrorAnswer(http.StatusServiceUnavailable, "away"),
		"garbage":   {Body: []byte("<html>")},
		"no keys":   {Body: []byte(`{"keys":[]}`)},
		"2 MB":      {Body: append([]byte(`{"keys":[{"kty":"`), bytes.Repeat([]byte("x"), 2<<20)...)},
		"broken":    {Body: []byte(`{"keys":[`), Drop: true},
		"elsewhere": {Status: http.StatusFound, Header: http.Header{"Location": {"/.well-known/other.json"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			job := w.batch("a", geminisim.StateSucceeded)
			w.sim.AnswerNext(geminisim.OpJWKS, "", answer)
			body := event("batch.succeeded", job, t1)
			w.unwritten(func() { w.want503(w.unverified("m1", body), 1) })
			w.wantLog(map[string]any{"event": "auth", "outcome": "refused", "reason": "unavailable"})
			w.wantLookUps(0)
			w.unwritten(func() { w.want503(w.unverified("m1", body), 1) })
			if n := w.sim.Stats().JWKSRequests; n != 1 {
				t.Errorf("the keys were fetched %d times within the gap", n)
			}
			w.clock.Advance(time.Minute)
			w.wantAccepted(w.unverified("m1", body), "applied", "advanced", false)
		})
	}
}

// TestKeysUnreachable: a token is answered 503 where nothing listens at the keys' address.
func TestKeysUnreachable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{gate: func(w *world) *trust.Gate {
		gone := httptest.NewServer(http.NotFoundHandler())
		gone.Close()
		return tokenGate(w.T, gone.URL, http.DefaultTransport)
	}})
	w.unwritten(func() { w.want503(w.unverified("m1", event("batch.succeeded", "batches/a", t1)), 1) })
	w.wantLog(map[string]any{"event": "auth", "outcome": "refused", "reason": "unavailable"})
}

// TestKeysSlow: a sender waits at most 5 s for keys that do not arrive.
func TestKeysSlow(t *testing.T) {
	t.Parallel()
	token := newWorld(t, options{}).token(nil, geminisim.TokenOptions{})
	synctest.Test(t, func(t *testing.T) {
		log := &harness.Log{}
		function := webhook.New(webhook.Options{
			Gate: tokenGate(t, "https://slow.example", never{}), Confirm: trust.Dynamic, Log: logging.New(log, "p"),
			Timeout: 10 * time.Second, Now: func() time.Time { return time.Date(2026, 1, 22, 12, 0, 0, 0, time.UTC) },
		})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhook", strings.NewReader("{}"))
		r.Header = http.Header{"Webhook-Id": {"m1"}, "Webhook-Timestamp": {"1769083200"}, "Webhook-Signature": {token}}
		answer, began := httptest.NewRecorder(), time.Now()
		function.ServeHTTP(answer, r)
		if took := time.Since(began); answer.Code != http.StatusServiceUnavailable ||
			answer.Header().Get("Retry-After") == "" || took != 5*time.Second {
			t.Errorf("%d %s after %v", answer.Code, answer.Body, took)
		}
		if lines := log.Drain(t); len(lines) != 1 || lines[0]["reason"] != "unavailable" {
			t.Errorf("logged %v", lines)
		}
	})
}

// never is a network on which no answer arrives.
type never struct{}

func (never) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// tokenGate accepts only tokens, whose keys are at an address.
func tokenGate(t *testing.T, url string, transport http.RoundTripper) *trust.Gate {
	t.Helper()
	tokens, err := trust.NewTokens(trust.TokensOptions{Audiences: []string{audience}, KeysURL: url, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	gate, err := trust.New(trust.Options{Tolerance: 5 * time.Minute, Dynamic: tokens})
	if err != nil {
		t.Fatal(err)
	}
	return gate
}
