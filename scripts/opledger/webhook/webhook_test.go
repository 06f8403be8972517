package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/secret/secretsim"
	"github.com/opledger/opledger/test/commandtest"
	"github.com/opledger/opledger/test/harness"
)

const (
	hookURL    = "https://webhook.example/"
	hookSecret = "projects/p/secrets/opledger-webhook"
)

// hookWorld is a simulated Gemini behind a proxy, and a simulated Secret Manager.
type hookWorld struct {
	t       *testing.T
	gemini  *geminisim.Sim
	secrets *secretsim.Sim
	now     func() time.Time
	// variables point the commands at both.
	variables []string

	mu      sync.Mutex
	front   func(w http.ResponseWriter, r *http.Request) bool
	writes  []string // the requests that change something at Gemini
	secret  []string // every signing secret that Gemini told
	printed bytes.Buffer
	waited  []time.Duration
}

func newHookWorld(t *testing.T) *hookWorld {
	t.Helper()
	return newHookWorldAt(t, time.Now)
}

// hookClock returns a clock for newHookWorldAt.
func hookClock() *harness.Clock {
	return harness.NewClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
}

func newHookWorldAt(t *testing.T, now func() time.Time) *hookWorld {
	t.Helper()
	w := &hookWorld{t: t, now: now}
	w.gemini = geminisim.New(geminisim.Config{Seed: 1, Now: now, HTTP: &http.Client{Transport: taking{}}})
	server := httptest.NewServer(w)
	var err error
	if w.secrets, err = secretsim.Start(secretsim.Config{Now: now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		server.Close()
		w.gemini.Close()
		w.secrets.Close()
		w.wantNoSecretPrinted()
	})
	w.variables = []string{
		"GEMINI_API_KEY=AIza-must-stay-secret", "GOOGLE_GEMINI_BASE_URL=" + server.URL, "OPLEDGER_WEBHOOK_URL=" + hookURL,
		"OPLEDGER_WEBHOOK_SECRET=" + hookSecret, "SECRET_MANAGER_EMULATOR_HOST=" + w.secrets.Addr(),
	}
	return w
}

// ServeHTTP passes a request on to the simulator unless the front answers it, and keeps what is to
// be checked.
func (w *hookWorld) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.mu.Lock()
	if r.Method != http.MethodGet {
		w.writes = append(w.writes, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/v1beta/webhooks"))
	}
	front := w.front
	w.mu.Unlock()
	if front != nil && front(rw, r) {
		return
	}
	answer := httptest.NewRecorder()
	w.gemini.ServeHTTP(answer, r)
	for _, field := range []string{`"new_signing_secret":"`, `"secret":"`} {
		if _, rest, found := strings.Cut(answer.Body.String(), field); found {
			text, _, _ := strings.Cut(rest, `"`)
			w.mu.Lock()
			w.secret = append(w.secret, text)
			w.mu.Unlock()
		}
	}
	for key, values := range answer.Header() {
		rw.Header()[key] = values
	}
	rw.WriteHeader(answer.Code)
	_, _ = rw.Write(answer.Body.Bytes())
}

// at makes the front answer requests of a method whose path ends so; nil restores it.
func (w *hookWorld) at(method, suffix string, answer http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.front = func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method != method || !strings.HasSuffix(r.URL.Path, suffix) {
			return false
		}
		answer(rw, r)
		return true
	}
}

// unavailable is the answer of a Gemini that is down.
func unavailable(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(rw,
		`{"error":{"code":503,"message":"The service is currently unavailable.","status":"UNAVAILABLE"}}`)
}

// took returns the requests since the last time that were to change something at Gemini.
func (w *hookWorld) took() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	writes := w.writes
	w.writes = nil
	return writes
}

// told returns every signing secret that Gemini told, the newest last.
func (w *hookWorld) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.secret)
}

// do runs a webhook command; no time passes while it waits. What it prints is searched for secrets
// at the end.
func (w *hookWorld) do(args ...string) commandtest.Said { return w.doWith(w.variables, "", args...) }

func (w *hookWorld) doWith(variables []string, in string, args ...string) commandtest.Said {
	w.t.Helper()
	var out, err bytes.Buffer
	code := root.Run(w.t.Context(), append([]string{"webhook"}, args...), terminal.Environment{
		Variables: variables, In: strings.NewReader(in), Out: &out, Err: &err, Wait: w.wait, Now: w.now,
	})
	if !slices.Contains(args, "--print-secret") {
		w.printed.Write(out.Bytes())
	}
	w.printed.Write(err.Bytes())
	return commandtest.Said{Code: code, Out: out.String(), Err: err.String()}
}

func (w *hookWorld) wait(_ context.Context, d time.Duration) error {
	w.waited = append(w.waited, d)
	return nil
}

func (w *hookWorld) wantNoSecretPrinted() {
	w.t.Helper()
	for _, text := range append(w.told(), "AIza-must-stay-secret") {
		if strings.Contains(w.printed.String(), text) {
			w.t.Errorf("a secret was printed: %s", w.printed.String())
		}
	}
}

// wantStored checks the data of the secret's versions, newest first; those that begin with - are
// disabled.
func (w *hookWorld) wantStored(want ...string) {
	w.t.Helper()
	var got []string
	for _, version := range w.secrets.Versions(hookSecret) {
		if !version.Enabled {
			version.Data = "-" + version.Data
		}
		got = append(got, version.Data)
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("%d versions are stored, want %d, or they are others", len(got), len(want))
	}
}

// only returns the id of the one webhook there is.
func (w *hookWorld) only() string {
	w.t.Helper()
	var answer struct{ Webhooks []struct{ ID string } }
	commandtest.OneObject(w.t, w.do("list", "--json").Want(w.t, terminal.ExitDone).Out, &answer)
	if len(answer.Webhooks) != 1 {
		w.t.Fatalf("%d webhooks, want 1", len(answer.Webhooks))
	}
	return answer.Webhooks[0].ID
}

// without leaves variables out and adds others.
func (w *hookWorld) with(left string, added ...string) []string {
	var variables []string
	for _, variable := range w.variables {
		if name, _, _ := strings.Cut(variable, "="); name != left {
			variables = append(variables, variable)
		}
	}
	return append(variables, added...)
}

// taking is a receiver that accepts every delivery.
type taking struct{}

func (taking) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, errors.Join(err, r.Body.Close())
}

// TestWebhookHelp: every subcommand has examples.
func TestWebhookHelp(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"create", "list", "ping", "rotate", "delete", "check"} {
		commandtest.Run(t, nil, "webhook", name, "--help").Want(t, terminal.ExitDone).Says(t,
			"Examples:\n  opledger webhook "+name)
	}
}

// TestWebhookWrongUse: exit code 2, one line that says what to do, and no request to Gemini.
func TestWebhookWrongUse(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	for _, c := range []struct {
		variables []string
		args      []string
		says      []string
	}{
		{nil, []string{"list"}, []string{"GEMINI_API_KEY", "OPLEDGER_GEMINI_API_KEY_SECRET"}},
		{w.variables, []string{"frobnicate"}, []string{"frobnicate"}},
		{w.variables, []string{"delete"}, []string{"webhook delete --help"}},
		{w.variables, []string{"ping", "a", "b"}, []string{"webhook ping --help"}},
		{w.variables, []string{"create", "--url", "http://x"}, []string{"--url: it must be an https URL"}},
		{w.variables, []string{"create", "--secret", hookSecret + "/versions/latest"}, []string{"--secret: ", "version"}},
		{w.with("OPLEDGER_WEBHOOK_URL"), []string{"create"}, []string{"OPLEDGER_WEBHOOK_URL", "--url"}},
		{w.with("OPLEDGER_WEBHOOK_URL"), []string{"ping"}, []string{"OPLEDGER_WEBHOOK_URL", "--url"}},
		{w.with("OPLEDGER_WEBHOOK_SECRET"), []string{"create"}, []string{"is not set", "--secret", "--print-secret"}},
		{w.with("OPLEDGER_WEBHOOK_SECRET"), []string{"rotate"}, []string{"is not set", "--secret", "--print-secret"}},
		{w.with("OPLEDGER_WEBHOOK_SECRET", "OPLEDGER_WEBHOOK_SECRET=whsec_x"), []string{"create"},
			[]string{"holds a secret itself"}},
		{
			[]string{"OPLEDGER_WEBHOOK_SECRET=hunter2", "OPLEDGER_WEBHOOK_URL=ftp://x", "GEMINI_API_KEY="},
			[]string{"check"}, []string{"OPLEDGER_WEBHOOK_SECRET: ", "OPLEDGER_WEBHOOK_URL: ", "GEMINI_API_KEY: "},
		},
	} {
		s := w.doWith(c.variables, "", c.args...).Want(t, terminal.ExitUsage, c.says...)
		s.Complaint(t)
		if s.Out != "" || strings.Contains(s.Err, "hunter2") {
			t.Errorf("%v: %+v", c.args, s)
		}
	}
	if writes := w.took(); len(writes) != 0 {
		t.Errorf("asked of Gemini: %s", writes)
	}
}

// TestWebhookKeyFromSecret: the API key may be in Secret Manager.
func TestWebhookKeyFromSecret(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	variables := w.with("GEMINI_API_KEY", "OPLEDGER_GEMINI_API_KEY_SECRET=projects/p/secrets/key")
	w.doWith(variables, "", "list").Want(t, terminal.ExitFailed, "OPLEDGER_GEMINI_API_KEY_SECRET",
		"projects/p/secrets/key").Complaint(t)
	w.secrets.Put("projects/p/secrets/key", "AIza-must-stay-secret\n", time.Now())
	if s := w.doWith(variables, "", "list").Want(t, terminal.ExitDone); s.Out != "no webhooks\n" {
		t.Errorf("%q", s.Out)
	}
}
