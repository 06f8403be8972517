package examples

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// secret signs the effects.
const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// A world is opledger serve with a simulated Gemini, and a door in front of Gemini that submitters
// go through.
type world struct {
	t     *testing.T
	serve *process
	// env is what serve says to export, with the door for Gemini.
	env []string
	// invoices is the database of the handler in Go.
	invoices string

	mu      sync.Mutex
	refusal int      // what the door answers to each creation; 0: Gemini's answer
	away    string   // where the door sends each creation, with a redirect; empty: to Gemini
	created []string // the bodies of the creations
}

// newWorld starts serve, and waits until it is ready.
func newWorld(t *testing.T, env []string, args ...string) *world {
	t.Helper()
	w := &world{t: t, invoices: filepath.Join(t.TempDir(), "invoices.db")}
	store := "sqlite:" + filepath.Join(t.TempDir(), "ledger.db")
	args = append([]string{
		"serve", "--simulate", "--speed", "1000", "--port", "0", "--simulate-port", "0", "--store", store,
	}, args...)
	w.serve = start(t, t.TempDir(), append(env, "INVOICES="+w.invoices, "TMPDIR="+t.TempDir()), opledger(t), args...)
	exports := w.serve.await("export GEMINI_API_KEY=")
	w.env = append(strings.Fields("GEMINI_API_KEY="+exports), "OPLEDGER_STORE="+store)
	gemini, err := url.Parse(w.exported("GOOGLE_GEMINI_BASE_URL"))
	if err != nil {
		t.Fatal(err)
	}
	door := httptest.NewServer(w.door(httputil.NewSingleHostReverseProxy(gemini)))
	t.Cleanup(door.Close)
	w.env = append(w.env, "GOOGLE_GEMINI_BASE_URL="+door.URL) // the last one counts
	return w
}

func (w *world) exported(name string) string {
	w.t.Helper()
	for _, variable := range w.env {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value
		}
	}
	w.t.Fatalf("serve does not say to export %s", name)
	return ""
}

// door notes each creation, and answers it itself where it is told to.
func (w *world) door(gemini http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			gemini.ServeHTTP(rw, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		w.mu.Lock()
		w.created = append(w.created, string(body))
		refusal, away := w.refusal, w.away
		w.mu.Unlock()
		if away != "" {
			http.Redirect(rw, r, away, http.StatusFound)
			return
		}
		if refusal != 0 {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(refusal)
			_, _ = fmt.Fprintf(rw, `{"error":{"code":%d,"message":"the door says so","status":"UNAVAILABLE"}}`, refusal)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		gemini.ServeHTTP(rw, r)
	})
}

// refuse makes the door answer each creation with a status; 0 ends it.
func (w *world) refuse(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refusal = status
}

// redirect makes the door send each creation to another address.
func (w *world) redirect(away string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = away
}

// creations returns the bodies of the creations since the last call.
func (w *world) creations() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	bodies := w.created
	w.created = nil
	return bodies
}
