package geminisim_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// serve runs a simulator behind a real server, and returns the real SDK's client for it.
func serve(t *testing.T, cfg geminisim.Config) (*geminisim.Sim, *genai.Client, *httptest.Server) {
	t.Helper()
	sim := geminisim.New(cfg)
	srv := httptest.NewServer(sim.Handler())
	t.Cleanup(func() {
		srv.Close()
		sim.Close()
	})
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey:      "key",
		Backend:     genai.BackendGeminiAPI,
		HTTPClient:  srv.Client(),
		HTTPOptions: genai.HTTPOptions{BaseURL: srv.URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	return sim, client, srv
}

// create makes a batch with file input through the SDK.
func create(t *testing.T, client *genai.Client, displayName string) *genai.BatchJob {
	t.Helper()
	job, err := client.Batches.Create(t.Context(), "gemini-3.5-flash",
		&genai.BatchJobSource{FileName: "files/input"}, &genai.CreateBatchJobConfig{DisplayName: displayName})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// ask uploads these lines and creates a batch from them, which is held in a state.
func ask(
	t *testing.T, sim *geminisim.Sim, client *genai.Client, label string, hold geminisim.State, lines ...string,
) *genai.BatchJob {
	t.Helper()
	sim.Script(label, geminisim.Script{Hold: hold})
	file := upload(t, client, strings.Join(lines, "\n"))
	job, err := client.Batches.Create(t.Context(), "gemini-3.5-flash", &genai.BatchJobSource{FileName: file.Name},
		&genai.CreateBatchJobConfig{DisplayName: label})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// asks returns n requests with the keys review-1, review-2 and so on.
func asks(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"key":"review-%d","request":{"contents":[{"parts":[{"text":"Good?"}]}]}}`, i+1)
	}
	return lines
}

// download returns the lines of a batch's result file.
func download(t *testing.T, sim *geminisim.Sim, batch string) []string {
	t.Helper()
	w := call(t, sim, "GET", "/v1beta/files/batch-"+strings.TrimPrefix(batch, "batches/")+":download?alt=media", "")
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return strings.Split(strings.TrimSuffix(w.Body.String(), "\n"), "\n")
}

// shown is a batch as the API shows it.
type shown struct {
	Error    struct{ Code int }
	Metadata struct {
		State       geminisim.State
		InputConfig struct{ FileName string }
		Output      *struct{ ResponsesFile string }
		BatchStats  map[string]string
	}
}

func show(t *testing.T, sim *geminisim.Sim, batch string) (b shown) {
	t.Helper()
	w := call(t, sim, "GET", "/v1beta/"+batch, "")
	if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s %v", w.Code, w.Body, err)
	}
	return b
}

// wait waits for the counters, at most five minutes.
func wait(t *testing.T, sim *geminisim.Sim, cond func(geminisim.Stats) bool) {
	t.Helper()
	waitWithin(t, 5*time.Minute, sim, cond)
}

// waitWithin is wait for tests on a fake clock, where weeks are nothing.
func waitWithin(t *testing.T, limit time.Duration, sim *geminisim.Sim, cond func(geminisim.Stats) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := sim.WaitFor(ctx, cond); err != nil {
		t.Fatal(err)
	}
}

const week = 7 * 24 * time.Hour

// call makes a request without a network, as inside synctest.
func call(t *testing.T, sim *geminisim.Sim, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("X-Goog-Api-Key", "key")
	w := httptest.NewRecorder()
	sim.Handler().ServeHTTP(w, r)
	return w
}

// do makes a request and reads its answer.
func do(client *http.Client, req *http.Request) (int, []byte, error) {
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, body, errors.Join(err, resp.Body.Close())
}

func unbase64(t *testing.T, s string) string {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// register makes a webhook without a network and returns its id and secret.
func register(t *testing.T, sim *geminisim.Sim) (id, secret string) {
	t.Helper()
	w := call(
		t, sim, "POST", "/v1beta/webhooks",
		`{"name":"test","uri":"https://receiver.example/webhook","subscribed_events":["batch.succeeded","batch.failed",`+
			`"batch.expired"]}`,
	)
	var hook struct {
		ID     string `json:"id"`
		Secret string `json:"new_signing_secret"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &hook); err != nil || w.Code != http.StatusOK {
		t.Fatalf("creating a webhook: %d %s %v", w.Code, w.Body, err)
	}
	return hook.ID, hook.Secret
}

// submit makes a batch without a network and returns its name.
func submit(t *testing.T, sim *geminisim.Sim, displayName string) string {
	t.Helper()
	w := call(
		t,
		sim,
		"POST",
		"/v1beta/models/gemini-3.5-flash:batchGenerateContent",
		fmt.Sprintf(
			`{"batch":{"displayName":%q,"inputConfig":{"fileName":"files/input"},`+
				`"webhookConfig":{"userMetadata":{"correlation":%q}}}}`,
			displayName, displayName,
		),
	)
	var op struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &op); err != nil || w.Code != http.StatusOK {
		t.Fatalf("creating a batch: %d %s %v", w.Code, w.Body, err)
	}
	return op.Name
}

// receiver is the transport of the simulator's client and the receiver of its deliveries in one: no
// network, so that it works inside synctest.
type receiver struct {
	answer func(n int, d got) (int, error) // nil: 200

	mu  sync.Mutex
	got []got
}

// got is one attempt that reached the receiver.
type got struct {
	At     time.Time
	URL    string
	Header http.Header
	Body   string
	Event  event
}

type event struct {
	Type      string
	Version   string
	Timestamp time.Time
	Data      map[string]any
}

func (rc *receiver) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return nil, err
	}
	d := got{At: time.Now(), URL: r.URL.String(), Header: r.Header, Body: string(body)}
	_ = json.Unmarshal(body, &d.Event) // tests send bodies that are no events, too
	rc.mu.Lock()
	n := len(rc.got)
	rc.got = append(rc.got, d)
	rc.mu.Unlock()
	status := http.StatusOK
	if rc.answer != nil {
		if status, err = rc.answer(n, d); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: status,
		Header:     http.Header{"Location": {"https://elsewhere.example/"}},
		Body:       io.NopCloser(bytes.NewReader([]byte(`{"outcome":"applied"}`))),
		Request:    r,
	}, nil
}

func (rc *receiver) all() []got {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return append([]got(nil), rc.got...)
}

func (rc *receiver) client() *http.Client { return &http.Client{Transport: rc} }
