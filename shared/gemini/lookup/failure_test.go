package lookup_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/lookup"
)

type refusal struct {
	name   string
	status int
	header string // Retry-After
	body   string
	reason string
	retry  time.Duration
}

func refusals() []refusal {
	retryInfo := func(delay string) string {
		return `,"details":[{"@type":"type.googleapis.com/google.rpc.Help"},` +
			`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":` + delay + `}]`
	}
	return []refusal{
		{
			name: "404", status: 404, body: `{"error":{"code":404,"message":"not here","status":"NOT_FOUND"}}`,
			reason: lookup.NotFound,
		},
		{name: "410", status: 410, body: `{"error":{"code":410,"message":"gone"}}`, reason: lookup.NotFound},
		{
			name: "404 without a code", status: 404, body: `{"error":{"message":"not here","status":"NOT_FOUND"}}`,
			reason: lookup.NotFound,
		},
		{
			name: "404 with a text code, as interactions have it", status: 404,
			body: `{"error":{"code":"not_found","message":"not here"}}`, reason: lookup.NotFound,
		},
		{
			name: "404 with gRPC's code", status: 404, body: `{"error":{"code":5,"status":"NOT_FOUND"}}`,
			reason: lookup.NotFound,
		},
		{name: "404 HTML", status: 404, body: `<html>not here</html>`, reason: lookup.NotFound},
		{name: "404 empty", status: 404, reason: lookup.NotFound},
		{
			name: "429", status: 429, body: `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"` + retryInfo(`"58.5s"`) + `}}`,
			reason: lookup.RateLimited, retry: 58500 * time.Millisecond,
		},
		{
			name: "429 with a nonsense delay", status: 429, header: "soon",
			body:   `{"error":{"code":429,"details":[{"retryDelay":"soon"},{"retryDelay":"-5s"},{"retryDelay":7}]}}`,
			reason: lookup.RateLimited,
		},
		{
			name: "429 without a code", status: 429, body: `{"error":{"status":"RESOURCE_EXHAUSTED"}}`,
			reason: lookup.RateLimited,
		},
		{
			name: "429 with seconds", status: 429, header: "120", body: `<html>`, reason: lookup.RateLimited,
			retry: 2 * time.Minute,
		},
		{
			name: "429 with a date", status: 429, header: noon.Add(90 * time.Second).Format(http.TimeFormat),
			reason: lookup.RateLimited, retry: 90 * time.Second,
		},
		{
			name: "429 with a date that is past", status: 429, header: noon.Add(-time.Hour).Format(http.TimeFormat),
			reason: lookup.RateLimited,
		},
		{
			name: "429 with the end of days", status: 429, header: "4000000000", reason: lookup.RateLimited,
			retry: 24 * time.Hour,
		},
		{name: "429 with a number out of range", status: 429, header: "99999999999999999999", reason: lookup.RateLimited},
		{
			name: "429 with a date far ahead", status: 429, header: "Fri, 31 Dec 9999 23:59:59 GMT", reason: lookup.RateLimited,
			retry: 24 * time.Hour,
		},
		{
			name: "429 with both: the longer", status: 429, header: "5",
			body: `{"error":{"code":"rate_limited"` + retryInfo(`"7s"`) + `}}`, reason: lookup.RateLimited,
			retry: 7 * time.Second,
		},
		{
			name: "503", status: 503, header: "9",
			body: `{"error":{"code":503,"status":"UNAVAILABLE"` + retryInfo(`"3s"`) + `}}`, reason: lookup.Unavailable,
			retry: 9 * time.Second,
		},
		{
			name: "503 with an endless delay", status: 503, body: `{"error":{"code":503` + retryInfo(`"100000h"`) + `}}`,
			reason: lookup.Unavailable, retry: 24 * time.Hour,
		},
		{name: "503 without a code", status: 503, body: `{"error":{"status":"UNAVAILABLE"}}`, reason: lookup.Unavailable},
		{name: "503 with nothing", status: 503, body: `{"error":{}}`, reason: lookup.Unavailable},
		{name: "503 that says not found", status: 503, body: `{"error":{"code":"not_found"}}`, reason: lookup.Unavailable},
		{name: "500", status: 500, body: `{"error":{"code":500,"status":"INTERNAL"}}`, reason: lookup.Unavailable},
		{name: "500 other JSON", status: 500, body: `{"oops":true}`, reason: lookup.Unavailable},
		{name: "500, very long", status: 500, body: strings.Repeat("long ", 1<<16), reason: lookup.Unavailable},
		{name: "502 HTML", status: 502, body: `<html><title>502</title></html>`, reason: lookup.Unavailable},
		{name: "502 empty", status: 502, reason: lookup.Unavailable},
		{name: "504", status: 504, body: `{"error":{"code":504,"status":"DEADLINE_EXCEEDED"}}`, reason: lookup.Timeout},
		{name: "408", status: 408, reason: lookup.Timeout},
		{name: "401", status: 401, body: `{"error":{"code":401,"status":"UNAUTHENTICATED"}}`, reason: lookup.Denied},
		{name: "403", status: 403, body: `{"error":{"code":403,"status":"PERMISSION_DENIED"}}`, reason: lookup.Denied},
		{
			name: "403 repeats the key", status: 403,
			body:   `{"error":{"code":403,"message":"no rights for ` + apiKey + `","status":"` + apiKey + `"}}`,
			reason: lookup.Denied,
		},
		{
			name: "400 for the key", status: 400,
			body: `{"error":{"code":400,"status":"INVALID_ARGUMENT",` +
				`"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`,
			reason: lookup.Denied,
		},
		{name: "400", status: 400, body: `{"error":{"code":400,"status":"INVALID_ARGUMENT"}}`, reason: lookup.Refused},
		{name: "409", status: 409, body: `{"error":{"code":"aborted"}}`, reason: lookup.Refused},
		{name: "302", status: 302, reason: lookup.Unavailable},
		{name: "201", status: 201, body: batch(`"state":"BATCH_STATE_SUCCEEDED"`), reason: lookup.BadAnswer},
		{name: "204", status: 204, reason: lookup.BadAnswer},
	}
}

// TestRefused: an answer other than 200 has the same reason for every kind of operation, takes one
// request, and ends no operation [R4].
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, test := range refusals() {
		t.Run("R4 "+test.name, func(t *testing.T) {
			t.Parallel()
			handler, n := counted(func(w http.ResponseWriter, r *http.Request) {
				if test.header != "" {
					w.Header().Set("Retry-After", test.header)
				}
				if strings.HasPrefix(test.body, "<") {
					w.Header().Set("Content-Type", "text/html")
					w.WriteHeader(test.status)
					_, _ = w.Write([]byte(test.body))
					return
				}
				says(test.status, test.body)(w, r)
			})
			client := serve(t, handler, func(o *lookup.Options) { o.Now = func() time.Time { return noon } })
			for _, raw := range names {
				got := client.Lookup(t.Context(), operationName(t, raw))
				checkUnknown(t, got, test.reason)
				checkFailure(t, got.Err, raw, test)
				if got.RetryAfter != test.retry {
					t.Errorf("%s: retry after %v, want %v", raw, got.RetryAfter, test.retry)
				}
			}
			page, err := client.ListBatches(t.Context(), 0, "")
			checkFailure(t, err, "batches", test)
			if diff := cmp.Diff(lookup.Page{}, page); diff != "" {
				t.Errorf("a page beside the error: %s", diff)
			}
			if n.Load() != 4 {
				t.Errorf("R6: %d requests, want one for each of 4", n.Load())
			}
		})
	}
}

func checkFailure(t *testing.T, err error, resource string, want refusal) {
	t.Helper()
	var failure *lookup.LookupError
	if !errors.As(err, &failure) {
		t.Fatalf("%s: %v is no *LookupError", resource, err)
	}
	if failure.Resource != resource || failure.Reason != want.reason || failure.Code != want.status ||
		failure.RetryAfter != want.retry {
		t.Errorf("got %+v, want %+v of %s", failure, want, resource)
	}
	if text := err.Error(); strings.Contains(text, apiKey) || len(text) > 1<<10 {
		t.Errorf("%s: the error holds the key, or too much: %.2000s", resource, text)
	}
}

// encodedKeys are the API key as a server may repeat it.
var encodedKeys = []string{
	apiKey, strings.ToUpper(apiKey), strings.ReplaceAll(apiKey, "-", "%2D"), strings.ReplaceAll(apiKey, "-", `\u002d`),
	base64.StdEncoding.EncodeToString([]byte(apiKey)), hex.EncodeToString([]byte(apiKey)),
}

// TestErrorKeepsKey: a server that repeats the request does not bring the key into an error,
// however it is encoded.
func TestErrorKeepsKey(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 400, 503} {
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte("you sent " + strings.Join(encodedKeys, ", ")))
		})
		for _, raw := range names {
			got := client.Lookup(t.Context(), operationName(t, raw))
			checkUnknown(t, got, got.Reason)
		}
		_, err := client.ListBatches(t.Context(), 1, "")
		if err == nil {
			t.Fatal("no error")
		}
		for _, said := range encodedKeys {
			if strings.Contains(err.Error(), said) {
				t.Errorf("the error holds the API key as %s: %v", said, err)
			}
		}
	}
}

// TestErrorKeepsBaseURL: net/http quotes the URL that it could not reach, which may hold a
// password.
func TestErrorKeepsBaseURL(t *testing.T) {
	t.Parallel()
	client := serve(t, http.NotFound, func(o *lookup.Options) { o.BaseURL = "http://alice-of-ops:hunter2@127.0.0.1:1/" })
	for _, raw := range names {
		err := client.Lookup(t.Context(), operationName(t, raw)).Err
		if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "alice") ||
			!strings.Contains(err.Error(), "127.0.0.1:1") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// TestLookupTimeAndTransport: timeouts and errors of the connection give the same reason for every
// kind of operation.
func TestLookupTimeAndTransport(t *testing.T) {
	t.Parallel()
	for _, raw := range names {
		t.Run(raw, func(t *testing.T) {
			t.Parallel()
			timeAndTransport(t, raw)
		})
	}
}

func timeAndTransport(t *testing.T, raw string) {
	t.Run("deadline", func(t *testing.T) {
		t.Parallel()
		client := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		got := client.Lookup(ctx, operationName(t, raw))
		checkUnknown(t, got, lookup.Timeout)
		if !errors.Is(got.Err, context.DeadlineExceeded) {
			t.Errorf("%v is no deadline", got.Err)
		}
	})
	t.Run("the client's own time", func(t *testing.T) {
		t.Parallel()
		client := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			func(o *lookup.Options) { o.HTTP.Timeout = 20 * time.Millisecond })
		checkUnknown(t, client.Lookup(t.Context(), operationName(t, raw)), lookup.Timeout)
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		client := serve(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
		got := client.Lookup(ctx, operationName(t, raw))
		checkUnknown(t, got, lookup.Cancelled)
		if !errors.Is(got.Err, context.Canceled) {
			t.Errorf("%v is no cancellation", got.Err)
		}
	})
	t.Run("hangs up", func(t *testing.T) {
		t.Parallel()
		client := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		checkUnknown(t, client.Lookup(t.Context(), operationName(t, raw)), lookup.Unavailable)
	})
	t.Run("hangs up within the body", func(t *testing.T) {
		t.Parallel()
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"metadata":`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		checkUnknown(t, client.Lookup(t.Context(), operationName(t, raw)), lookup.Unavailable)
	})
	t.Run("no server", func(t *testing.T) {
		t.Parallel()
		client, err := lookup.NewClient(lookup.Options{APIKey: apiKey, BaseURL: "http://127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		checkUnknown(t, client.Lookup(t.Context(), operationName(t, raw)), lookup.Unavailable)
	})
}
