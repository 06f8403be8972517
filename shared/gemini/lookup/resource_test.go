package lookup_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
)

// nullItem is the output that the SDK cannot decode, seen from Gemini.
const nullItem = `"output":{"inlinedResponses":{"inlinedResponses":[{"response":{}},null]}}`

// inTurn answers the first request with one handler and all others with another, and counts them.
func inTurn(first, second http.HandlerFunc) (http.HandlerFunc, *atomic.Int32) {
	var n atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			first(w, r)
			return
		}
		second(w, r)
	}, &n
}

// TestLookupWithoutSDK: what the SDK cannot decode does not hide the state.
func TestLookupWithoutSDK(t *testing.T) {
	t.Parallel()
	const done = `"state":"BATCH_STATE_SUCCEEDED","updateTime":"2026-01-22T12:00:00.123456789Z",`
	noonish := noon.Add(123456 * time.Microsecond)
	inline := operation.Result{Inline: true}
	for _, test := range []struct {
		name, body string
		want       lookup.Answer
	}{
		{"an inline item is null", batch(done + nullItem), lookup.Answer{State: operation.Succeeded, UpdateTime: noonish, Result: inline}},
		{"an inline item's error has details", batch(done + `"output":{"inlinedResponses":{"inlinedResponses":[{"error":{"code":8,"details":[{"@type":"x"}]}}]}}`), lookup.Answer{State: operation.Succeeded, UpdateTime: noonish, Result: inline}},
		{"an embedding is null", batch(done + `"createTime":"soon","output":{"inlinedEmbedContentResponses":{"inlinedResponses":[null]}}`), lookup.Answer{State: operation.Succeeded, UpdateTime: noonish, Result: inline}},
		{"output is a text", batch(done + `"output":"x"`), lookup.Answer{State: operation.Succeeded, UpdateTime: noonish}},
		{"no items", batch(done + `"createTime":"soon","output":{"inlinedResponses":{"inlinedResponses":[]}}`), lookup.Answer{State: operation.Succeeded, UpdateTime: noonish}},
		{"time is no time", batch(`"state":"JOB_STATE_CANCELLING","updateTime":"soon"`), lookup.Answer{State: operation.Running}},
		{"only the end has a time", batch(`"state":"BATCH_STATE_EXPIRED","updateTime":7,"endTime":"2026-01-22T12:00:00Z","createTime":"soon"`), lookup.Answer{State: operation.Expired, UpdateTime: noon}},
		{"no name, other members", `{"done":true,"response":{"x":[{"state":1},[[]],1e999,true,null]},"metadata":{"createTime":"soon","x":{"state":"y"},"state":"BATCH_STATE_SUCCEEDED"},"y":[]}`, lookup.Answer{State: operation.Succeeded}},
		{"counts, as texts and as numbers", batch(done + `"batchStats":{"requestCount":"7","successfulRequestCount":4,"failedRequestCount":"2","pendingRequestCount":1,"x":3},"output":{"responsesFile":"files/x","y":1},"createTime":"soon"`), lookup.Answer{
			State: operation.Succeeded, UpdateTime: noonish, Result: operation.Result{
				OutputFile: "files/x", Counts: &operation.Counts{Total: 7, Succeeded: 4, Failed: 2, Pending: 1},
			},
		}},
		{"counts that are none", batch(done + nullItem + `,"batchStats":{"requestCount":"many","failedRequestCount":-1,"pendingRequestCount":1.5,"successfulRequestCount":{}}`), lookup.Answer{State: operation.Succeeded, UpdateTime: noonish, Result: inline}},
		{"why it failed", `{"error":{"details":[{"code":1}],"code":8,"message":"no quota for ` + apiKey + `"},"metadata":{"state":"BATCH_STATE_FAILED",` + nullItem + `}}`, lookup.Answer{
			State: operation.Failed, Result: operation.Result{Inline: true, ErrorCode: "8", ErrorMessage: "no quota for [API key]"},
		}},
		{"why it failed, odd", `{"error":{"code":"ABORTED","message":7},"metadata":{"state":"BATCH_STATE_FAILED",` + nullItem + `}}`, lookup.Answer{
			State: operation.Failed, Result: operation.Result{Inline: true, ErrorCode: "ABORTED"},
		}},
		{"why it failed, none", `{"error":null,"metadata":{"state":"BATCH_STATE_FAILED",` + nullItem + `}}`, lookup.Answer{State: operation.Failed, Result: inline}},
	} {
		t.Run("R2 "+test.name, func(t *testing.T) {
			t.Parallel()
			handler, n := inTurn(says(200, test.body), func(w http.ResponseWriter, r *http.Request) {
				if got := r.Method + " " + r.URL.String(); got != "GET /proxy/v1beta/batches/abc123" || r.Header.Get("X-Goog-Api-Key") != apiKey {
					t.Errorf("asked again by %s, key %q", got, r.Header.Get("X-Goog-Api-Key"))
				}
				says(200, test.body)(w, r)
			})
			client := serve(t, handler, func(o *lookup.Options) { o.BaseURL += "/proxy/" })
			got := client.Lookup(t.Context(), name(t, "models/m/batches/abc123"))
			if diff := cmp.Diff(test.want, got); diff != "" || !got.Known() || n.Load() != 2 {
				t.Errorf("known %v, %d requests, -want +got\n%s", got.Known(), n.Load(), diff)
			}
		})
	}
}

// TestLookupCutsError: a verbose error is cut for the record that it goes into.
func TestLookupCutsError(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 5000)
	body := `{"error":{"code":"` + long + `","message":"` + long + `"},"metadata":{"state":"BATCH_STATE_FAILED",` + nullItem + `}}`
	r := serve(t, says(200, body)).Lookup(t.Context(), name(t, "batches/abc123")).Result
	if n, m := len(r.ErrorCode), len(r.ErrorMessage); n < 120 || n > 128 || m < 4090 || m > 4096 {
		t.Errorf("code of %d bytes, message of %d", n, m)
	}
}

// TestLookupStreams: an answer beyond Options.MaxAnswer is read as it comes. Not parallel, because it measures memory.
func TestLookupStreams(t *testing.T) {
	const items, size = 640, 64 << 10 // 40 MiB
	item := `{"response":{"candidates":[{"content":{"parts":[{"text":"` + strings.Repeat("x", size) + `"}]}}]}},`
	var most atomic.Uint64
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"metadata":{"output":{"inlinedResponses":{"inlinedResponses":[`)
		for i := range items {
			if _, err := io.WriteString(w, item); err != nil {
				return // the first time: too large
			}
			if i%64 == 0 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				most.Store(max(most.Load(), m.HeapAlloc))
			}
		}
		_, _ = io.WriteString(w, `null]}},"state":"BATCH_STATE_SUCCEEDED"}}`)
	}, func(o *lookup.Options) { o.MaxAnswer = 1 << 10 })
	got := client.Lookup(t.Context(), name(t, "batches/abc123"))
	if diff := cmp.Diff(lookup.Answer{State: operation.Succeeded, Result: operation.Result{Inline: true}}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if most.Load() > 20<<20 {
		t.Errorf("%d bytes held of an answer of %d", most.Load(), items*size)
	}
}

// TestLookupStreamsNoGiant: one text is held whole while it is read, and so has a bound.
func TestLookupStreamsNoGiant(t *testing.T) {
	t.Parallel()
	part := strings.Repeat("x", 1<<20)
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"metadata":{"state":"BATCH_STATE_SUCCEEDED"},"x":"`)
		for range 40 {
			if _, err := io.WriteString(w, part); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, `"}`)
	}, func(o *lookup.Options) { o.MaxAnswer = 1 << 10 })
	checkUnknown(t, client.Lookup(t.Context(), name(t, "batches/abc123")), lookup.TooLarge)
}

// TestLookupSecondFails: where the second answer is no good either, the first one's reason stands [R4].
func TestLookupSecondFails(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	for what, second := range map[string]http.HandlerFunc{
		"503":           says(503, `{"error":{"code":503}}`),
		"404":           says(404, `{"metadata":{"state":"BATCH_STATE_SUCCEEDED"}}`),
		"201":           says(201, batch(`"state":"BATCH_STATE_SUCCEEDED"`)),
		"HTML":          says(200, `<html>`),
		"empty":         says(200, ``),
		"{}":            says(200, `{}`),
		"null":          says(200, `null`),
		"error body":    says(200, `{"error":{"code":404}}`),
		"repeats key":   says(200, `{"metadata":{"state":"`+apiKey+`"}}`),
		"another batch": says(200, `{"name":"batches/other","metadata":{"state":"BATCH_STATE_SUCCEEDED"}}`),
		"no name":       says(200, `{"name":"\u0000","metadata":{"state":"BATCH_STATE_SUCCEEDED"}}`),
		"hangs up":      func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"breaks off": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"metadata":{"state":"BATCH_STATE_SUCCEEDED"}`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for body, reason := range map[string]string{
				`null`: lookup.BadAnswer,
				`{"x":"` + strings.Repeat("x", 2000) + `"}`: lookup.TooLarge,
			} {
				handler, n := inTurn(says(200, body), second)
				client := serve(t, handler, func(o *lookup.Options) { o.MaxAnswer = 1000 })
				checkUnknown(t, client.Lookup(t.Context(), name(t, "batches/abc123")), reason)
				if n.Load() < 2 { // net/http itself repeats a GET on a connection that was kept and is gone
					t.Errorf("%d requests", n.Load())
				}
			}
			if n := elsewhere.Load(); n != 0 {
				t.Errorf("the redirect was followed %d times", n)
			}
		})
	}
}

// TestLookupAsksOnce: only an answer that the SDK could not take is asked for again, and only while there is time.
func TestLookupAsksOnce(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, `{}`, `{"error":{"code":404}}`, batch(`"state":"BATCH_STATE_DREAMING"`), batch(`"state":"BATCH_STATE_RUNNING"`)} {
		handler, n := inTurn(says(200, body), says(200, batch(`"state":"BATCH_STATE_SUCCEEDED"`)))
		if got := serve(t, handler).Lookup(t.Context(), name(t, "batches/abc123")); n.Load() != 1 || got.State == operation.Succeeded {
			t.Errorf("%d requests for %s", n.Load(), body)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	handler, _ := inTurn(says(200, `null`), func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	client := serve(t, handler)
	checkUnknown(t, client.Lookup(ctx, name(t, "batches/abc123")), lookup.BadAnswer)
	over, end := context.WithCancel(t.Context())
	end()
	checkUnknown(t, client.Lookup(over, name(t, "batches/abc123")), lookup.Cancelled)
}
