package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// A call is one request of a client that knows the contract and nothing of the code, and what must come back.
type call struct {
	what   string
	method string // POST, if empty
	path   string
	header http.Header
	body   string
	status int
	want   map[string]any // fields of the answer
	keys   []string       // every field that the answer has
	heads  map[string]string
}

// make sends the call and returns the decoded answer.
func (c call) make(t *testing.T, url string) map[string]any {
	t.Helper()
	if c.method == "" {
		c.method = http.MethodPost
	}
	status, body, header, err := send(c.method, url+c.path, []byte(c.body), c.header)
	if err != nil {
		t.Errorf("%s: %v", c.what, err)
		return nil
	}
	var answer map[string]any
	if err := json.Unmarshal(body, &answer); err != nil || header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: not JSON: %s %q", c.what, header.Get("Content-Type"), body)
	}
	if status != c.status {
		t.Errorf("%s: answered %d, want %d: %s", c.what, status, c.status, body)
	}
	for field, want := range c.want {
		if answer[field] != want {
			t.Errorf("%s: %s is %v, want %v: %s", c.what, field, answer[field], want, body)
		}
	}
	if c.keys != nil && !slices.Equal(slices.Sorted(maps.Keys(answer)), c.keys) {
		t.Errorf("%s: the answer has %v, want %v", c.what, slices.Sorted(maps.Keys(answer)), c.keys)
	}
	for name, want := range c.heads {
		if header.Get(name) != want {
			t.Errorf("%s: header %s is %q, want %q", c.what, name, header.Get(name), want)
		}
	}
	if c.status >= 400 && c.want == nil {
		wantErrorForm(t, c, answer)
	}
	if seconds, err := strconv.Atoi(header.Get("Retry-After")); c.status == http.StatusServiceUnavailable &&
		(err != nil || seconds < 1) {
		t.Errorf("%s: Retry-After is %q", c.what, header.Get("Retry-After"))
	}
	return answer
}

// wantErrorForm: {"error":{"code","message","problems":[…],"reason"}}, problems where there may be several.
func wantErrorForm(t *testing.T, c call, answer map[string]any) {
	t.Helper()
	problem, _ := answer["error"].(map[string]any)
	message, _ := problem["message"].(string)
	if len(answer) != 1 || problem["code"] != float64(c.status) || message == "" {
		t.Errorf("%s: not the form of an error: %v", c.what, answer)
	}
	for key := range problem {
		if key != "code" && key != "message" && key != "problems" && key != "reason" {
			t.Errorf("%s: an error has no %q", c.what, key)
		}
	}
}

// alone starts one process without faults around it. It looks nothing up and sweeps nothing by itself.
func alone(t *testing.T, settings ...string) (*fleet, string) {
	t.Helper()
	f := newFleet(t, inFile(t), 1, geminisim.Config{Speed: 1000})
	f.settings, f.args = settings, []string{"--schedule=false"}
	f.start()
	p := f.instances[0].process()
	f.within(patience, "the process is ready", func() bool { return p.url() != "" })
	return f, p.url()
}

// signed is the headers of a delivery as Gemini sends it.
func signed(secret, id string, at time.Time, body string) http.Header {
	return http.Header{
		"Webhook-Id": {id}, "Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)},
		"Webhook-Signature": {geminisim.Sign(secret, id, at, []byte(body))}, "Content-Type": {"application/json"},
	}
}

const eventTime = "2026-01-22T12:00:00.123456789Z"

func eventOf(kind, id string) string {
	return fmt.Sprintf(`{"type":%q,"version":"v1","timestamp":%q,"data":{"id":%q}}`, kind, eventTime, id)
}

// TestHTTPWebhook is the contract's row of POST /webhook [M3, M5, M8, W1, W2, W3, W4, W5, W6, W7].
func TestHTTPWebhook(t *testing.T) {
	t.Parallel()
	f, url := alone(t)
	now := time.Now()
	delivery := func(what, id, body string, status int, want map[string]any) call {
		return call{
			what: what, path: "/webhook", header: signed(f.secret, id, now, body), body: body, status: status,
			want: want, keys: map[bool][]string{true: {"outcome", "reason", "registered"}}[status == 200],
		}
	}
	off := func(d time.Duration) http.Header {
		return signed(f.secret, "msg_off", now.Add(d), eventOf("batch.succeeded", "batches/known"))
	}
	known := eventOf("batch.succeeded", "batches/known")
	other := "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	large := `{"type":"batch.succeeded","filler":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, c := range []call{
		{what: "registering first", path: "/register", body: `{"name":"batches/known"}`, status: 201},
		{what: "no signature [W1]", path: "/webhook", body: known, status: 401},
		{what: "another's signature [W1]", path: "/webhook",
			header: signed(other, "msg_0", now, known), body: known, status: 401},
		{what: "a signature of another body [W1]", path: "/webhook",
			header: signed(f.secret, "msg_0", now, known), body: known + " ", status: 401},
		{what: "six minutes old [W2]", path: "/webhook", header: off(-6 * time.Minute), body: known, status: 401},
		{what: "six minutes ahead [W2]", path: "/webhook", header: off(6 * time.Minute), body: known, status: 401},
		delivery("a completion", "msg_1", known, 200, map[string]any{"outcome": "applied", "registered": true}),
		delivery("the same delivery [W4]", "msg_1", known, 200, map[string]any{"outcome": "duplicate", "registered": true}),
		delivery("the same said again [M3, M8]", "msg_2", known, 200,
			map[string]any{"outcome": "dropped", "reason": "stale-or-equal-update-time"}),
		delivery("a different end [M5]", "msg_3", eventOf("batch.failed", "batches/known"), 200,
			map[string]any{"outcome": "conflict", "reason": "terminal-conflict"}),
		delivery("in another form [K1, K2]", "msg_4", eventOf("batch.succeeded", "known"), 200,
			map[string]any{"outcome": "dropped"}),
		delivery("an unregistered operation [W5]", "msg_5", eventOf("batch.succeeded", "batches/stranger"), 200,
			map[string]any{"outcome": "applied", "registered": false}),
		delivery("an unknown type [W6]", "msg_6", eventOf("batch.sang", "batches/known"), 200,
			map[string]any{"outcome": "ignored"}),
		delivery("no JSON [W6]", "msg_7", "<html>", 200, map[string]any{"outcome": "quarantined", "registered": false}),
		delivery("no name [K3, W6]", "msg_8",
			`{"type":"batch.succeeded","version":"v1","timestamp":"`+eventTime+`","data":{"other":1}}`, 200,
			map[string]any{"outcome": "quarantined"}),
		delivery("the same without a name [W4]", "msg_8",
			`{"type":"batch.succeeded","version":"v1","timestamp":"`+eventTime+`","data":{"other":1}}`, 200,
			map[string]any{"outcome": "duplicate"}),
		{what: "GET [W7]", method: http.MethodGet, path: "/webhook", status: 405, heads: map[string]string{"Allow": "POST"}},
		{what: "PUT [W7]", method: http.MethodPut, path: "/webhook",
			header: signed(f.secret, "msg_9", now, known), body: known,
			status: 405, heads: map[string]string{"Allow": "POST"}},
		{what: "more than 1 MiB [W7]", path: "/webhook",
			header: signed(f.secret, "msg_10", now, large), body: large, status: 413},
	} {
		c.make(t, url)
	}
}

// TestHTTPWebhookWithoutASecret: the first deployment comes before the webhook exists; nothing is lost meanwhile [W3].
func TestHTTPWebhookWithoutASecret(t *testing.T) {
	t.Parallel()
	f, url := alone(t, "OPLEDGER_WEBHOOK_SECRET=")
	body := eventOf("batch.succeeded", "batches/early")
	call{
		what: "no secret yet", path: "/webhook", header: signed(f.secret, "msg_1", time.Now(), body),
		body: body, status: 503,
	}.make(t, url)
	call{what: "the others serve", path: "/register", body: `{"name":"batches/early"}`, status: 201}.make(t, url)
}

// TestHTTPRegister is the contract's row of POST /register [L2, K1].
func TestHTTPRegister(t *testing.T) {
	t.Parallel()
	_, url := alone(t)
	full := `{"name":"https://generativelanguage.googleapis.com/v1beta/Batches/Abc-1/","jobKind":"k","metadata":{"a":1},` +
		`"submittedAt":"2026-01-22T14:00:00+02:00","correlationId":"c-1"}`
	record := call{what: "new", path: "/register", body: full, status: 201, want: map[string]any{
		"key": "batches/Abc-1", "name": "Batches/Abc-1", "jobKind": "k", "state": "PENDING", "registered": true,
		"submittedAt": "2026-01-22T12:00:00Z", "correlationId": "c-1", "attempts": 0.0,
	}}.make(t, url)
	if at, _ := record["createdAt"].(string); !strings.HasSuffix(at, "Z") {
		t.Errorf("createdAt is %v, not in UTC", record["createdAt"])
	}
	call{what: "known", path: "/register", body: `{"name":" batches/Abc-1 ","jobKind":"other"}`, status: 200,
		want: map[string]any{"key": "batches/Abc-1", "jobKind": "k"}}.make(t, url)
	for _, bad := range []struct {
		what, body string
		problems   int
	}{
		{"no JSON", "x", 1},
		{"nothing", "", 1},
		{"no name", `{}`, 1},
		{"a bare id", `{"name":"abc"}`, 1},
		{"an unknown field", `{"name":"batches/a","kind":"x"}`, 1},
		{"two bodies", `{"name":"batches/a"}{}`, 1},
		{"metadata that is no object", `{"name":"batches/a","metadata":[1]}`, 1},
		{"a time to come", `{"name":"batches/a","submittedAt":"2999-01-01T00:00:00Z"}`, 1},
		{"three problems", `{"name":"","metadata":7,"jobKind":"` + strings.Repeat("k", 300) + `"}`, 3},
	} {
		answer := call{what: bad.what, path: "/register", body: bad.body, status: 400}.make(t, url)
		problem, _ := answer["error"].(map[string]any)
		if problems, _ := problem["problems"].([]any); len(problems) != bad.problems {
			t.Errorf("%s: %d problems are named, want %d: %v", bad.what, len(problems), bad.problems, problem)
		}
	}
	call{
		what: "a correlation id twice [K6, L2]", path: "/register",
		body: `{"name":"batches/b","correlationId":"c-1"}`, status: 201,
	}.make(t, url)
	call{
		what: "GET", method: http.MethodGet, path: "/register", status: 405,
		heads: map[string]string{"Allow": "POST"},
	}.make(t, url)
	call{
		what: "too large", path: "/register", body: `{"name":"` + strings.Repeat("x", 1<<20) + `"}`,
		status: 413,
	}.make(t, url)
}

// TestHTTPElsewhere: /health, and 404 for what is not there.
func TestHTTPElsewhere(t *testing.T) {
	t.Parallel()
	_, url := alone(t)
	call{
		what: "health", method: http.MethodGet, path: "/health", status: 200,
		want: map[string]any{"status": "ok"},
	}.make(t, url)
	call{what: "a post to the console", path: "/", status: 404}.make(t, url)
	for _, path := range []string{"/nowhere", "/webhook/", "/effects/1", "/healthz"} {
		call{what: path, method: http.MethodGet, path: path, status: 404}.make(t, url)
		call{what: path, path: path, status: 404}.make(t, url)
	}
}
