package lookup_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
)

func TestLookupTimeAndTransport(t *testing.T) {
	t.Parallel()
	t.Run("deadline", func(t *testing.T) {
		t.Parallel()
		client := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		got := client.Lookup(ctx, name(t, "batches/x"))
		checkUnknown(t, got, lookup.Timeout)
		if !errors.Is(got.Err, context.DeadlineExceeded) {
			t.Errorf("%v is no deadline", got.Err)
		}
	})
	t.Run("the client's own time", func(t *testing.T) {
		t.Parallel()
		client := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			func(o *lookup.Options) { o.HTTP.Timeout = 20 * time.Millisecond })
		checkUnknown(t, client.Lookup(t.Context(), name(t, "batches/x")), lookup.Timeout)
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		client := serve(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
		got := client.Lookup(ctx, name(t, "batches/x"))
		checkUnknown(t, got, lookup.Cancelled)
		if !errors.Is(got.Err, context.Canceled) {
			t.Errorf("%v is no cancellation", got.Err)
		}
	})
	t.Run("hangs up", func(t *testing.T) {
		t.Parallel()
		client := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		checkUnknown(t, client.Lookup(t.Context(), name(t, "batches/x")), lookup.Unavailable)
	})
	t.Run("hangs up within the body", func(t *testing.T) {
		t.Parallel()
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"metadata":`)
			panic(http.ErrAbortHandler)
		})
		checkUnknown(t, client.Lookup(t.Context(), name(t, "batches/x")), lookup.Unavailable)
	})
	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		client, err := lookup.NewClient(t.Context(), lookup.Options{APIKey: apiKey, BaseURL: "http://127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		checkUnknown(t, client.Lookup(t.Context(), name(t, "batches/x")), lookup.Unavailable)
	})
}

// TestRedirectKeepsKey: the key goes to nobody but the host that it is meant for.
func TestRedirectKeepsKey(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(other.Close)
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	checkUnknown(t, client.Lookup(t.Context(), name(t, "batches/x")), lookup.Unavailable)
	if n := asked.Load(); n != 0 {
		t.Errorf("the redirect was followed %d times", n)
	}
}

// TestErrorKeepsKey: a server that repeats the request does not bring the key into an error.
func TestErrorKeepsKey(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 400, 503} {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "you sent "+r.Header.Get("X-Goog-Api-Key"))
		})
		got := client.Lookup(t.Context(), name(t, "batches/x"))
		checkUnknown(t, got, got.Reason)
	}
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, strings.Repeat("long ", 1<<20))
	})
	if got := client.Lookup(t.Context(), name(t, "batches/x")); len(got.Err.Error()) > 1<<10 {
		t.Errorf("an error of %d bytes", len(got.Err.Error()))
	}
}

// TestLookupTooLarge: one answer beyond all measure ends nothing but its own look-up [R6].
func TestLookupTooLarge(t *testing.T) {
	t.Parallel()
	body := batch(`"state":"BATCH_STATE_DREAMING"`) // a state that is known is found however large the answer is
	limit := func(n int) func(*lookup.Options) {
		return func(o *lookup.Options) { o.MaxAnswer = int64(n) }
	}
	chunked := func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush() // no length is known
		_, _ = io.WriteString(w, body)
	}
	for name, handler := range map[string]http.HandlerFunc{"with a length": says(200, body), "without": chunked, "an error": says(500, body)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := serve(t, handler, limit(len(body)-1)).Lookup(t.Context(), operation.Name{Key: "batches/x", Resource: "batches/x"})
			checkUnknown(t, got, lookup.TooLarge)
			got = serve(t, handler, limit(len(body))).Lookup(t.Context(), operation.Name{Key: "batches/x", Resource: "batches/x"})
			if got.Reason == lookup.TooLarge {
				t.Error("an answer of exactly the limit is refused")
			}
		})
	}
}
