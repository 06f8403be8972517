package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/secret/secretsim"
)

// newServer returns a server with settings from an environment, or the error.
func newServer(t *testing.T, environ ...string) (*Server, error) {
	t.Helper()
	settings, err := config.Parse[Settings](environ)
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return New(t.Context(), settings, Options{Store: store, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
}

// post makes a request and returns the answer's status and body.
func (s *Server) post(t *testing.T, header http.Header, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhook", strings.NewReader(body))
	r.Header = header
	answer := httptest.NewRecorder()
	s.deliveries().ServeHTTP(answer, r)
	return answer.Code, answer.Body.String()
}

// TestServeWebhook: the webhook accepts signed deliveries, confirms those with a token at Gemini,
// and refuses all others.
func TestServeWebhook(t *testing.T) {
	t.Parallel()
	const secret, audience = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "https://receiver.example/webhook"
	sim := geminisim.New(geminisim.Config{Audience: audience})
	api := httptest.NewServer(sim.Handler())
	t.Cleanup(func() {
		sim.Close()
		api.Close()
	})
	s, err := newServer(t, "GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL="+api.URL, "OPLEDGER_WEBHOOK_SECRET="+secret,
		"OPLEDGER_WEBHOOK_AUDIENCE="+audience, "OPLEDGER_JWKS_URL="+api.URL+geminisim.JWKSPath)
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"type":"batch.succeeded","data":{"id":"batches/a"}}`
	now := time.Now()
	header := func(signature string) http.Header {
		return http.Header{
			"Webhook-Id": {"m1"}, "Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)}, "Webhook-Signature": {signature},
		}
	}
	token := sim.Token(sim.Claims(audience, nil), geminisim.TokenOptions{})
	for _, c := range []struct {
		signature string
		status    int
		says      string
	}{
		{geminisim.Sign(secret, "m1", now, []byte(body)), http.StatusOK, `"outcome":"applied"`},
		{token, http.StatusOK, `"outcome":"duplicate"`}, // the same delivery id
		{token[:len(token)-5], http.StatusUnauthorized, "signature"},
	} {
		if status, text := s.post(t, header(c.signature), body); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%.10s…: %d %s, want %d %s", c.signature, status, text, c.status, c.says)
		}
	}
	if status, text := s.post(t, header(token), strings.Replace(body, "batches/a", "batches/b",
		1)); status != http.StatusOK ||
		!strings.Contains(text, `"ignored","reason":"not-found"`) {
		t.Errorf("of what Gemini does not know: %d %s", status, text)
	}
}

// TestServeMalformedSecret: a server does not start with a malformed webhook secret in Secret
// Manager.
func TestServeMalformedSecret(t *testing.T) {
	t.Parallel()
	secrets, err := secretsim.Start(secretsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer secrets.Close()
	bad := secrets.Put("projects/p/secrets/s", "hunter2", time.Now())
	_, err = newServer(t, "GEMINI_API_KEY=k", "OPLEDGER_WEBHOOK_SECRET=projects/p/secrets/s",
		"SECRET_MANAGER_EMULATOR_HOST="+secrets.Addr())
	if err == nil || !strings.Contains(fmt.Sprint(err), bad) || strings.Contains(fmt.Sprint(err), "hunter2") {
		t.Errorf("%v, want an error about %s", err, bad)
	}
}
