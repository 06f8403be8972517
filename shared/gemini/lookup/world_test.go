package lookup_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
)

var (
	noon    = time.Date(2026, 1, 22, 12, 0, 0, 0, time.UTC)
	noonish = noon.Add(123456 * time.Microsecond)
	created = noon.Add(-time.Hour + 123456*time.Microsecond) // in every batch and interaction
)

const apiKey = "AIza-this-is-the-secret-key"

// serve answers every request with handler and returns a client for it.
func serve(t *testing.T, handler http.HandlerFunc, change ...func(*lookup.Options)) *lookup.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	opts := lookup.Options{APIKey: apiKey, BaseURL: server.URL, HTTP: server.Client()}
	for _, f := range change {
		f(&opts)
	}
	client, err := lookup.NewClient(opts)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// says is a handler that always gives the same answer.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func operationName(t testing.TB, raw string) operation.Name {
	t.Helper()
	n, err := operation.ParseName(raw, operation.Batches)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// names has one operation of each kind that can be looked up.
var names = []string{
	"batches/abc123",
	"models/veo-3.1-generate-preview/operations/9p5ug42emn2z",
	"interactions/v1_ChdOdXRo",
}

// batch is the shape of a live answer around some metadata.
func batch(metadata string) string {
	return `{"name":"batches/abc123","metadata":{` +
		`"@type":"type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",` +
		`"model":"models/gemini-2.5-flash","displayName":"d","createTime":"2026-01-22T11:00:00.123456789Z",` + metadata + `}}`
}

// checkUnknown checks the promises about every inconclusive answer.
func checkUnknown(t *testing.T, got lookup.Answer, reason string) {
	t.Helper()
	if got.Known() || got.State != operation.Unknown || got.Reason != reason || got.Err == nil {
		t.Errorf(
			"known %v, state %q, reason %q, error %v; want reason %q", got.Known(), got.State, got.Reason, got.Err, reason,
		)
	}
	if got.Err != nil && strings.Contains(fmt.Sprintf("%v %+v %#v", got.Err, got.Err, got.Err), apiKey) {
		t.Errorf("the error holds the API key: %v", got.Err)
	}
	for _, record := range []operation.Record{{}, {State: operation.Pending}, {State: operation.Succeeded}} {
		if d := operation.Reduce(record, got.Event(operation.Name{}), operation.Transitions{}); d.Applied {
			t.Errorf("M1: an unknown answer changes a record in state %q", record.State)
		}
	}
}

// counted counts the requests that handler (nil: no server) answers.
func counted(handler http.HandlerFunc) (http.HandlerFunc, *atomic.Int32) {
	var n atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		if handler != nil {
			handler(w, r)
		}
	}, &n
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
