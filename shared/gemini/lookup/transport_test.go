package lookup_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/lookup"
)

// TestLookupTimeAndTransport: whose time it was, and whether anybody answered, is the same for every kind of operation.
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
	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		client, err := lookup.NewClient(t.Context(), lookup.Options{APIKey: apiKey, BaseURL: "http://127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		checkUnknown(t, client.Lookup(t.Context(), operationName(t, raw)), lookup.Unavailable)
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
	for _, raw := range names {
		checkUnknown(t, client.Lookup(t.Context(), operationName(t, raw)), lookup.Unavailable)
	}
	if _, err := client.ListBatches(t.Context(), 0, ""); err == nil {
		t.Error("a redirect is a page")
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the redirect was followed %d times", n)
	}
}
