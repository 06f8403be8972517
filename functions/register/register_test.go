package register_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/shared/operation"
)

var noon = time.Date(2026, 1, 22, 12, 0, 0, 0, time.UTC)

// TestRegister: an operation is answered 201 with its record when it is new, and 200 with its
// present record when it is known, in whatever form its name is [L2, K1].
func TestRegister(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.post(`{"name":"batches/abc","jobKind":"review","metadata":{"b": 1, "a": [true]},` +
		`"submittedAt":"2026-01-22T12:30:00.1234567+01:00","correlationId":"c-1"}`)
	if r.Status != http.StatusCreated {
		t.Fatalf("%d %+v, want 201", r.Status, r.Error)
	}
	rec := r.Record
	submitted := time.Date(2026, 1, 22, 11, 30, 0, 123456000, time.UTC)
	if rec.Key != "batches/abc" || rec.Name != "batches/abc" || rec.JobKind != "review" ||
		rec.State != operation.Pending || !rec.Registered ||
		!rec.SubmittedAt.Equal(submitted) || !rec.DueAt.Equal(noon) || rec.CorrelationID != "c-1" || // not before now [L4]
		string(rec.Metadata) != `{"a":[true],"b":1}` || !rec.CreatedAt.Equal(noon) || !rec.ExpireAt.IsZero() {
		t.Errorf("the record is %+v", rec)
	}
	for _, name := range []string{
		"batches/abc", " batches/abc/ ", "BATCHES/abc", "models/gemini-3/batches/abc", "projects/p/locations/us/batches/abc",
		"https://generativelanguage.googleapis.com/v1beta/batches/abc",
	} {
		r := w.post(fmt.Sprintf(`{"name":%q,"jobKind":"other","metadata":{"b":2,"c":3}}`, name))
		if r.Status != http.StatusOK || r.Record.Key != "batches/abc" || r.Record.Name != "batches/abc" ||
			r.Record.JobKind != "review" ||
			!r.Record.SubmittedAt.Equal(submitted) {
			t.Errorf("%s: %d %+v %+v, want 200 and what was there", name, r.Status, r.Record, r.Error)
		}
		if string(r.Record.Metadata) != `{"a":[true],"b":1,"c":3}` {
			t.Errorf("%s: metadata %s; a second registration may add, never change", name, r.Record.Metadata)
		}
	}
	if r := w.post(`{"name":"batches/ABC"}`); r.Status != http.StatusCreated || !r.Record.SubmittedAt.Equal(noon) {
		t.Errorf("another id: %d %+v", r.Status, r.Record)
	}
}

// TestTraced: a submission has the trace that its body names, else that of its request; of two the first counts, and
// a malformed one is none.
func TestTraced(t *testing.T) {
	t.Parallel()
	const first, second = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	w := newWorld(t)
	for _, c := range []struct{ body, header, want string }{
		{`{"name":"batches/a","traceParent":"malformed"}`, "00-malformed", ""},
		{`{"name":"batches/a"}`, first, first},
		{`{"name":"batches/a"}`, second, first},
		{`{"name":"batches/b","traceParent":"` + second + `"}`, first, second},
		{`{"intent":true,"correlationId":"c-1"}`, first, first},
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/register", strings.NewReader(c.body))
		request.Header.Set("Traceparent", c.header)
		answer := httptest.NewRecorder()
		w.server.Config.Handler.ServeHTTP(answer, request)
		var got struct {
			operation.Submission
			Intent operation.Submission `json:"intent"`
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || answer.Code/100 != 2 ||
			string(got.TraceParent+got.Intent.TraceParent) != c.want {
			t.Errorf("%s with %q: %d %s, want %q", c.body, c.header, answer.Code, answer.Body, c.want)
		}
	}
}

// TestMerged: the answer to a registration of a known operation lists what it added and what it did
// not change. So does that to a known intent.
func TestMerged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.post(`{"name":"batches/a","metadata":{"a":1}}`)
	w.post(`{"intent":true,"correlationId":"c-1","jobKind":"review","metadata":{"a":1}}`)
	for _, c := range []struct{ body, want string }{
		{`{"name":"batches/a","metadata":{"a": 1}}`, "[] []"},
		{`{"name":"batches/a","jobKind":"review","metadata":{"b":2,"a":1}}`, "[jobKind metadata.b] []"},
		{`{"name":"batches/a","jobKind":"other","metadata":{"b":3}}`, "[] [jobKind metadata.b]"},
		{`{"intent":true,"correlationId":"c-1","jobKind":"review"}`, "[] []"},
		{`{"intent":true,"correlationId":"c-1","jobKind":"other","metadata":{"a":2}}`, "[] [jobKind metadata.a]"},
	} {
		r := w.post(c.body)
		if got := fmt.Sprintf("%v %v", r.Added, r.Kept); r.Status != http.StatusOK || got != c.want {
			t.Errorf("%s: %d, added and kept %s, want %s", c.body, r.Status, got, c.want)
		}
	}
}

// TestLogged: every registration is one log line with the words that metrics count.
func TestLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.post(`{"name":"models/m/operations/v1"}`)
	w.post(`{"name":"operations/v1"}`)
	w.server.Close()
	decoder := json.NewDecoder(w.log)
	for _, outcome := range []string{"created", "known"} {
		var line map[string]any
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if line["event"] != "register" || line["outcome"] != outcome || line["operation"] != "operations/v1" ||
			line["duration_ms"] == nil {
			t.Errorf("logged %v, want outcome %s", line, outcome)
		}
	}
}

// TestAlreadyEnded: registering an operation that has ended plans its effects at once [W5], also
// those of its job kind.
func TestAlreadyEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name, err := operation.ParseName("batches/a", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.ledger.Operations.Ingest(t.Context(), operation.Event{
		Name: name, DeliveryID: "m1", Source: operation.Webhook, State: operation.Succeeded,
		UpdateTime: noon.Add(-time.Minute),
	}); err != nil {
		t.Fatal(err)
	}
	// The ledger has a document of it, but it was never registered.
	r := w.post(`{"name":"batches/a","jobKind":"special-7"}`)
	if r.Status/100 != 2 || r.Record.State != operation.Succeeded || r.Record.Effects["publish"] != "open" ||
		r.Record.Effects["special"] != "open" {
		t.Errorf("%d %+v", r.Status, r.Record)
	}
	if r := w.post(`{"name":"batches/a","jobKind":"special-7"}`); r.Status != http.StatusOK || len(w.outbox.All()) != 2 {
		t.Errorf("again: %d, published %v", r.Status, w.outbox.All())
	}
}

// TestQueueDown: a registration is accepted although the effects that it plans cannot be published.
// They wait for the sweep, and the log says so.
func TestQueueDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ended := operation.Event{Name: operation.Name{Key: "batches/a", Resource: "batches/a"}, DeliveryID: "m1",
		Source: operation.Webhook, State: operation.Succeeded}
	if _, err := w.ledger.Operations.Ingest(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	w.outbox.Fail(errors.New("the queue is down"))
	if r := w.post(`{"name":"batches/a"}`); r.Status/100 != 2 || r.Record.Effects["publish"] != "open" {
		t.Errorf("%d %+v", r.Status, r.Record)
	}
	if said := w.log.String(); !strings.Contains(said, `"outcome":"unpublished"`) {
		t.Errorf("logged %s", said)
	}
}

// TestWithheld: effects that are withheld, because the operation ended before the retention, are
// logged for a registration and for an intent that finds its operation [L3].
func TestWithheld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name, err := operation.ParseName("batches/a", "")
	if err != nil {
		t.Fatal(err)
	}
	for i, body := range []string{`{"name":"batches/a"}`, `{"intent":true,"correlationId":"c-1"}`} {
		if _, err := w.ledger.Operations.Ingest(t.Context(), operation.Event{
			Name: name, DeliveryID: "m1", Source: operation.Webhook, State: operation.Succeeded,
			UpdateTime:    noon.AddDate(0, 0, -15),
			CorrelationID: []string{"", "c-1"}[i],
		}); err != nil {
			t.Fatal(err)
		}
		w.log.Reset()
		if r := w.post(body); r.Status/100 != 2 {
			t.Fatalf("%d %+v", r.Status, r.Error)
		}
		if said := w.log.String(); !strings.Contains(said, `"outcome":"withheld"`) ||
			!strings.Contains(said, string(name.Key)) {
			t.Errorf("%s: logged %s", body, said)
		}
		if n := len(w.outbox.All()); n != 0 {
			t.Errorf("%s: %d effects", body, n)
		}
		name.Key, name.Resource = "batches/b", "batches/b"
	}
}

// TestCorrelation: an operation is registered although its correlation id is already bound to
// another one, but without the id [K6, L2].
func TestCorrelation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if r := w.post(`{"name":"batches/a","correlationId":"c"}`); r.Status != http.StatusCreated {
		t.Fatalf("%d %+v", r.Status, r.Error)
	}
	w.log.Reset()
	if r := w.post(`{"name":"batches/b","correlationId":"c"}`); r.Status != http.StatusCreated ||
		r.Record.CorrelationID != "" {
		t.Errorf("%d %+v", r.Status, r)
	}
	if said := w.log.String(); !strings.Contains(said, `"outcome":"unbound"`) || !strings.Contains(said, "batches/a") {
		t.Errorf("logged %s, want a warning that names batches/a", said)
	}
}

// TestGoneBeforeItsTurn: a large body whose sender has gone is not decoded [W7].
func TestGoneBeforeItsTurn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	answer := httptest.NewRecorder()
	body := strings.NewReader(`{"name":"batches/a","metadata":{"a":"` + strings.Repeat("x", 70<<10) + `"}}`)
	register.New(register.Options{Now: time.Now}).ServeHTTP(answer,
		httptest.NewRequestWithContext(ctx, http.MethodPost, "/register", body))
	if answer.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s, want 503", answer.Code, answer.Body)
	}
}

// TestSimultaneous: of any number of concurrent registrations exactly one creates the record.
func TestSimultaneous(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var group sync.WaitGroup
	statuses := make([]int, 12)
	for i := range statuses {
		group.Go(func() { statuses[i] = w.post(`{"name":"batches/a"}`).Status })
	}
	group.Wait()
	slices.Sort(statuses)
	if statuses[0] != 200 || statuses[len(statuses)-2] != 200 || statuses[len(statuses)-1] != 201 {
		t.Errorf("statuses %v, want one 201 and else 200", statuses)
	}
}

// TestRefused: the answers 405, 413 and 503.
func TestRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, method := range []string{"GET", "PUT", "DELETE", "OPTIONS"} {
		if r := w.request(method, strings.NewReader(`{"name":"batches/a"}`)); r.Status != http.StatusMethodNotAllowed ||
			r.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %d, Allow %q", method, r.Status, r.Header.Get("Allow"))
		}
	}
	if r := w.post(strings.Repeat(" ", 1<<20) + `{"name":"batches/a"}`); r.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %d", r.Status)
	}
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	r := w.post(`{"name":"batches/a"}`)
	if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); r.Status != http.StatusServiceUnavailable ||
		err != nil || seconds < 1 {
		t.Errorf("the store is down: %d, Retry-After %q", r.Status, r.Header.Get("Retry-After"))
	}
}
