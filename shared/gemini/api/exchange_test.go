package api_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/api"
)

// TestInterrupted: no answer, and one that breaks off, are errors of the connection.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	silent := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	short := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"name":`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	for way, ask := range ways {
		if err := ask(t.Context(), silent); !errors.Is(err, api.ErrInterrupted) {
			t.Errorf("%s: no answer: %v", way, err)
		}
	}
	if err := bySDK(t.Context(), short); !errors.Is(err, api.ErrInterrupted) {
		t.Errorf("SDK: half an answer: %v", err)
	}
	body, err := short.Get(t.Context(), "batches/abc", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(body); !errors.Is(err, api.ErrInterrupted) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Get: half an answer: %v", err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for way, ask := range ways {
		if err := ask(ended, silent); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want the end of the context", way, err)
		}
	}
}

// TestMaxAnswer: the SDK gets an answer of exactly the limit, and none that is larger, whether its
// length is known or not.
func TestMaxAnswer(t *testing.T) {
	t.Parallel()
	text := `{"name":"operations/abc"}`
	for name, chunked := range map[string]bool{"with a length": false, "without": true} {
		for limit, want := range map[int]error{len(text): nil, len(text) - 1: api.ErrTooLarge} {
			client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if chunked {
					_ = http.NewResponseController(w).Flush()
				}
				_, _ = io.WriteString(w, text)
			}, func(o *api.Options) { o.MaxAnswer = int64(limit) })
			if err := bySDK(t.Context(), client); !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("%s, a limit of %d: %v, want %v", name, limit, err, want)
			}
		}
	}
}

// TestUnreadable: an answer of 200 that the SDK cannot read is neither a refusal nor an error of
// the connection.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
	err := bySDK(t.Context(), client)
	var refused *api.Error
	if err == nil || errors.As(err, &refused) || errors.Is(err, api.ErrInterrupted) ||
		!strings.Contains(err.Error(), "<html>") {
		t.Errorf("%v, want the SDK's own error", err)
	}
}
