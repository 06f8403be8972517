package lookup_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
)

var noon = time.Date(2026, 1, 22, 12, 0, 0, 0, time.UTC)

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
	client, err := lookup.NewClient(t.Context(), opts)
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

func name(t testing.TB, raw string) operation.Name {
	t.Helper()
	n, err := operation.ParseName(raw, operation.Batches)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// batch is the shape of a live answer around some metadata.
func batch(metadata string) string {
	return `{"name":"batches/abc123","metadata":{"@type":"type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",` +
		`"model":"models/gemini-2.5-flash","displayName":"d","createTime":"2026-01-22T11:00:00.123456789Z",` + metadata + `}}`
}

func TestLookupKnown(t *testing.T) {
	t.Parallel()
	noonish := noon.Add(123456 * time.Microsecond)
	for _, test := range []struct {
		name, metadata string
		want           lookup.Answer
	}{
		{"pending", `"state":"BATCH_STATE_PENDING","updateTime":"2026-01-22T12:00:00.123456789Z"`, lookup.Answer{State: operation.Pending, UpdateTime: noonish}},
		{"running", `"state":"BATCH_STATE_RUNNING","updateTime":"2026-01-22T12:00:00Z"`, lookup.Answer{State: operation.Running, UpdateTime: noon}},
		{"succeeded with a file", `"state":"BATCH_STATE_SUCCEEDED","updateTime":"2026-01-22T12:00:00.123456789Z","endTime":"2026-01-22T12:00:01Z","output":{"responsesFile":"files/batch-x"}`, lookup.Answer{
			State: operation.Succeeded, UpdateTime: noonish, Result: operation.Result{OutputFile: "files/batch-x"},
		}},
		{"succeeded inline", `"state":"BATCH_STATE_SUCCEEDED","endTime":"2026-01-22T12:00:00Z","output":{"inlinedResponses":{"inlinedResponses":[{"response":{"candidates":[]}},{"response":null},{"error":{"code":8,"message":"quota"}}]}}`, lookup.Answer{
			State: operation.Succeeded, UpdateTime: noon, Result: operation.Result{Inline: true},
		}},
		{"succeeded with embeddings inline", `"state":"BATCH_STATE_SUCCEEDED","output":{"inlinedEmbedContentResponses":{"inlinedResponses":[{"response":{"embedding":{"values":[1]}}}]}}`, lookup.Answer{
			State: operation.Succeeded, Result: operation.Result{Inline: true},
		}},
		{"failed", `"state":"BATCH_STATE_FAILED","endTime":"2026-01-22T12:00:00Z"`, lookup.Answer{State: operation.Failed, UpdateTime: noon}},
		{"cancelled", `"state":"BATCH_STATE_CANCELLED"`, lookup.Answer{State: operation.Cancelled}},
		{"expired", `"state":"BATCH_STATE_EXPIRED"`, lookup.Answer{State: operation.Expired}},
		{"cancelling still runs", `"state":"BATCH_STATE_CANCELLING"`, lookup.Answer{State: operation.Running}},
		{"the other prefix: pending", `"state":"JOB_STATE_PENDING"`, lookup.Answer{State: operation.Pending}},
		{"the other prefix: queued", `"state":"JOB_STATE_QUEUED"`, lookup.Answer{State: operation.Pending}},
		{"the other prefix: running", `"state":"JOB_STATE_RUNNING"`, lookup.Answer{State: operation.Running}},
		{"the other prefix: succeeded", `"state":"JOB_STATE_SUCCEEDED"`, lookup.Answer{State: operation.Succeeded}},
		{"the other prefix: failed", `"state":"JOB_STATE_FAILED"`, lookup.Answer{State: operation.Failed}},
		{"the other prefix: cancelled", `"state":"JOB_STATE_CANCELLED"`, lookup.Answer{State: operation.Cancelled}},
		{"the other prefix: expired", `"state":"JOB_STATE_EXPIRED"`, lookup.Answer{State: operation.Expired}},
	} {
		t.Run("R2 "+test.name, func(t *testing.T) {
			t.Parallel()
			got := serve(t, says(200, batch(test.metadata))).Lookup(t.Context(), name(t, "batches/abc123"))
			if diff := cmp.Diff(test.want, got); diff != "" || !got.Known() {
				t.Errorf("known %v, -want +got\n%s", got.Known(), diff)
			}
		})
	}
}

func TestLookupUnknown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		status int
		body   string
		reason string
		code   int
		retry  time.Duration
	}{
		{"404", 404, `{"error":{"code":404,"message":"not here","status":"NOT_FOUND"}}`, lookup.NotFound, 404, 0},
		{"410", 410, `{"error":{"code":410,"message":"gone"}}`, lookup.NotFound, 410, 0},
		{"404 without a code", 404, `{"error":{"message":"not here","status":"NOT_FOUND"}}`, lookup.NotFound, 0, 0},
		{"404 with a text code", 404, `{"error":{"code":"not_found","message":"not here"}}`, lookup.NotFound, 404, 0},
		{"404 HTML", 404, `<html>not here</html>`, lookup.NotFound, 404, 0},
		{"404 empty", 404, ``, lookup.NotFound, 404, 0},
		{"gRPC's code in the code's place", 404, `{"error":{"code":5,"status":"NOT_FOUND"}}`, lookup.NotFound, 5, 0},
		{"429", 429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.Help"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"58.5s"}]}}`, lookup.RateLimited, 429, 58500 * time.Millisecond},
		{"429 with a nonsense delay", 429, `{"error":{"code":429,"details":[{"retryDelay":"soon"},{"retryDelay":"-5s"},{"retryDelay":7}]}}`, lookup.RateLimited, 429, 0},
		{"429 without a code", 429, `{"error":{"status":"RESOURCE_EXHAUSTED"}}`, lookup.RateLimited, 0, 0},
		{"429 HTML", 429, `<html>`, lookup.RateLimited, 429, 0},
		{"503", 503, `{"error":{"code":503,"status":"UNAVAILABLE","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3s"}]}}`, lookup.Unavailable, 503, 3 * time.Second},
		{"503 without a code", 503, `{"error":{"status":"UNAVAILABLE"}}`, lookup.Unavailable, 0, 0},
		{"503 with nothing", 503, `{"error":{}}`, lookup.Unavailable, 0, 0},
		{"500", 500, `{"error":{"code":500,"status":"INTERNAL"}}`, lookup.Unavailable, 500, 0},
		{"502 HTML", 502, `<html><title>502</title></html>`, lookup.Unavailable, 502, 0},
		{"502 empty", 502, ``, lookup.Unavailable, 502, 0},
		{"500 other JSON", 500, `{"oops":true}`, lookup.Unavailable, 500, 0},
		{"504", 504, `{"error":{"code":504,"status":"DEADLINE_EXCEEDED"}}`, lookup.Timeout, 504, 0},
		{"504 without a code", 504, `{"error":{"status":"DEADLINE_EXCEEDED"}}`, lookup.Timeout, 0, 0},
		{"401", 401, `{"error":{"code":401,"status":"UNAUTHENTICATED"}}`, lookup.Denied, 401, 0},
		{"403", 403, `{"error":{"code":403,"status":"PERMISSION_DENIED"}}`, lookup.Denied, 403, 0},
		{"403 without a code", 403, `{"error":{"status":"PERMISSION_DENIED"}}`, lookup.Denied, 0, 0},
		{"400 for the key", 400, `{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, lookup.Denied, 400, 0},
		{"400", 400, `{"error":{"code":400,"status":"INVALID_ARGUMENT"}}`, lookup.Refused, 400, 0},
		{"400 without a code", 400, `{"error":{"status":"INVALID_ARGUMENT"}}`, lookup.Refused, 0, 0},
		{"302", 302, ``, lookup.Unavailable, 302, 0},
		{"200 with an error body", 200, `{"error":{"code":404,"message":"not here","status":"NOT_FOUND"}}`, lookup.NoState, 0, 0},
		{"200 with {}", 200, `{}`, lookup.NoState, 0, 0},
		{"200 empty", 200, ``, lookup.NoState, 0, 0},
		{"204", 204, ``, lookup.NoState, 0, 0},
		{"200 done, no metadata", 200, `{"name":"batches/abc123","done":true}`, lookup.NoState, 0, 0},
		{"200 with the state outside of metadata", 200, `{"name":"batches/abc123","state":"BATCH_STATE_SUCCEEDED"}`, lookup.NoState, 0, 0},
		{"metadata is a text", 200, `{"metadata":"x"}`, lookup.NoState, 0, 0},
		{"state unspecified", 200, batch(`"state":"BATCH_STATE_UNSPECIFIED"`), lookup.NoState, 0, 0},
		{"state null", 200, batch(`"state":null`), lookup.NoState, 0, 0},
		{"a state of tomorrow", 200, batch(`"state":"BATCH_STATE_DREAMING"`), lookup.UnknownState, 0, 0},
		{"a state without a prefix", 200, batch(`"state":"SUCCEEDED"`), lookup.UnknownState, 0, 0},
		{"another prefix", 200, batch(`"state":"X_BATCH_STATE_SUCCEEDED"`), lookup.UnknownState, 0, 0},
		{"small letters", 200, batch(`"state":"batch_state_succeeded"`), lookup.UnknownState, 0, 0},
		{"paused", 200, batch(`"state":"JOB_STATE_PAUSED"`), lookup.UnknownState, 0, 0},
		{"partially succeeded", 200, batch(`"state":"JOB_STATE_PARTIALLY_SUCCEEDED"`), lookup.UnknownState, 0, 0},
		{"200 HTML", 200, `<html>all is well</html>`, lookup.BadAnswer, 0, 0},
		{"200 cut short", 200, `{"metadata":{"state":"BATCH_STATE_SUCC`, lookup.BadAnswer, 0, 0},
		{"200 a list", 200, `[]`, lookup.BadAnswer, 0, 0},
		{"200 null: the SDK panics", 200, `null`, lookup.BadAnswer, 0, 0},
		{"an inline item is null, and no state", 200, batch(`"output":{"inlinedResponses":{"inlinedResponses":[null]}}`), lookup.BadAnswer, 0, 0},
		{"an inline item is null, and a state of tomorrow", 200, batch(`"state":"BATCH_STATE_DREAMING","output":{"inlinedResponses":{"inlinedResponses":[null]}}`), lookup.BadAnswer, 0, 0},
		{"cut short after the state", 200, `{"metadata":{"state":"BATCH_STATE_SUCCEEDED"}`, lookup.BadAnswer, 0, 0},
		{"cut short within an item", 200, `{"metadata":{"state":"BATCH_STATE_SUCCEEDED","output":{"inlinedResponses":{"inlinedResponses":[null,{"a":`, lookup.BadAnswer, 0, 0},
		{"something after the batch", 200, batch(`"state":"BATCH_STATE_SUCCEEDED"`) + `{}`, lookup.BadAnswer, 0, 0},
		{"brackets do not match", 200, `{"metadata":{"state":"BATCH_STATE_SUCCEEDED","x":[}}}`, lookup.BadAnswer, 0, 0},
		{"a member's name is a number", 200, `{"metadata":{"state":"BATCH_STATE_SUCCEEDED",7:8}}`, lookup.BadAnswer, 0, 0},
		{"nested without end", 200, `{"metadata":{"state":"BATCH_STATE_SUCCEEDED"},"x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, lookup.BadAnswer, 0, 0},
		{"state is a number", 200, batch(`"state":3`), lookup.BadAnswer, 0, 0},
	} {
		t.Run("R4 "+test.name, func(t *testing.T) {
			t.Parallel()
			got := serve(t, says(test.status, test.body)).Lookup(t.Context(), name(t, "batches/abc123"))
			checkUnknown(t, got, test.reason)
			var failure *lookup.LookupError
			if !errors.As(got.Err, &failure) || failure.Code != test.code || failure.Resource != "batches/abc123" {
				t.Errorf("error %+v, want code %d", got.Err, test.code)
			}
			if got.RetryAfter != test.retry {
				t.Errorf("retry after %v, want %v", got.RetryAfter, test.retry)
			}
		})
	}
}

// checkUnknown checks what is promised of every answer that is not known.
func checkUnknown(t *testing.T, got lookup.Answer, reason string) {
	t.Helper()
	if got.Known() || got.State != operation.Unknown || got.Reason != reason || got.Err == nil {
		t.Errorf("known %v, state %q, reason %q, error %v; want reason %q", got.Known(), got.State, got.Reason, got.Err, reason)
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
