package webhooks_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/webhooks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	apiKey = "AIza-the-key-not-to-be-shown"
	ours   = "https://webhook.example/"
)

// world is a simulated Gemini behind a proxy that records requests and may answer in its place.
type world struct {
	sim    *geminisim.Sim
	client *webhooks.Client
	sdk    *genai.Client

	mu     sync.Mutex
	sent   []string // METHOD path body
	forms  []string // the Api-Revision of each
	answer func(w http.ResponseWriter, r *http.Request) bool
}

func start(t *testing.T) *world {
	t.Helper()
	w := &world{sim: geminisim.New(geminisim.Config{Seed: 1, HTTP: &http.Client{Transport: accepting{}}})}
	server := httptest.NewServer(w)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		w.sim.Close()
	})
	var err error
	ours := &http.Client{Transport: transport}
	w.client, err = webhooks.NewClient(webhooks.Options{APIKey: apiKey, BaseURL: server.URL, HTTP: ours})
	if err != nil {
		t.Fatal(err)
	}
	w.sdk, err = genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: apiKey, Backend: genai.BackendGeminiAPI, HTTPClient: ours,
		HTTPOptions: genai.HTTPOptions{BaseURL: server.URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.mu.Lock()
	w.forms = append(w.forms, r.Header.Get("Api-Revision"))
	w.sent = append(w.sent, strings.TrimSpace(r.Method+" "+r.URL.String()+" "+string(body)))
	answer := w.answer
	w.mu.Unlock()
	if answer == nil || !answer(rw, r) {
		w.sim.ServeHTTP(rw, r)
	}
}

// instead lets f answer. Where f returns false the simulator does.
func (w *world) instead(f func(w http.ResponseWriter, r *http.Request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = f
}

func (w *world) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := w.sent
	w.sent, w.forms = nil, nil
	return sent
}

// says is an answer of JSON.
func says(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// accepting is a receiver that takes every delivery.
type accepting struct{}

func (accepting) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, errors.Join(err, r.Body.Close())
}

// wantError checks an *Error and that it holds no key.
func wantError(t *testing.T, err error, status int, words ...string) *webhooks.Error {
	t.Helper()
	var failure *webhooks.Error
	if !errors.As(err, &failure) || failure.Status != status {
		t.Fatalf("%v, want status %d", err, status)
	}
	for _, said := range words {
		if !strings.Contains(err.Error(), said) {
			t.Errorf("%q does not say %q", err, said)
		}
	}
	if strings.Contains(err.Error(), apiKey) {
		t.Errorf("the key is in %q", err)
	}
	return failure
}
