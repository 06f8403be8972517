package batches_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/gemini/geminisim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const apiKey = "AIza-the-key-not-to-be-shown"

// world is a simulated Gemini behind a proxy that records requests.
type world struct {
	sim    *geminisim.Sim
	client *batches.Client
	sdk    *genai.Client

	mu   sync.Mutex
	sent []sent
}

// sent is what a request says, apart from who sends it.
type sent struct {
	Line    string // method and address, without that of a session
	Key     string
	Headers map[string]string // those of the protocol of uploads
	Body    string
}

func start(t *testing.T) *world {
	t.Helper()
	w := &world{sim: geminisim.New(geminisim.Config{Seed: 1})}
	server := httptest.NewServer(w)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		w.sim.Close()
	})
	ours := &http.Client{Transport: transport}
	w.client = newClient(t, batches.Options{BaseURL: server.URL, HTTP: ours})
	var err error
	w.sdk, err = genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: apiKey, Backend: genai.BackendGeminiAPI, HTTPClient: ours,
		HTTPOptions: genai.HTTPOptions{BaseURL: server.URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func newClient(t *testing.T, o batches.Options) *batches.Client {
	t.Helper()
	o.APIKey = apiKey
	client, err := batches.NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// ServeHTTP records a request, and lets the simulator answer.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	path := r.URL.RequestURI()
	if before, _, session := strings.Cut(path, "/upload/v1beta/files/"); session {
		path = before + "/upload/v1beta/files/SESSION"
	}
	headers := map[string]string{}
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Goog-Upload-") {
			headers[name] = r.Header.Get(name)
		}
	}
	said := string(body)
	if len(said) > 1<<10 {
		said = fmt.Sprintf("%d bytes with SHA-256 %x", len(said), sha256.Sum256(body))
	}
	w.mu.Lock()
	w.sent = append(w.sent, sent{r.Method + " " + path, r.Header.Get("X-Goog-Api-Key"), headers, said})
	w.mu.Unlock()
	w.sim.ServeHTTP(rw, r)
}

// requests returns what was sent since the last call.
func (w *world) requests() []sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := slices.Clone(w.sent)
	w.sent = nil
	return all
}

// serve returns a client for a Gemini that answers as handler does.
func serve(t *testing.T, handler http.HandlerFunc) *batches.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return newClient(t, batches.Options{BaseURL: server.URL, HTTP: server.Client()})
}

// says answers every request with a status and a body.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// elsewhere starts each upload at another host.
func elsewhere(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("X-Goog-Upload-Url", "http://localhost:1/upload")
}

// sorted is a JSON object with its members in order; any other text is as it is.
func sorted(text string) string {
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		return text
	}
	again, err := json.Marshal(object)
	if err != nil {
		return text
	}
	return string(again)
}
