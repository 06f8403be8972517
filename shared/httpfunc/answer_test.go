package httpfunc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// said is the answer to a failed request.
type said struct {
	Error struct {
		Code     int
		Message  string
		Problems []string
	}
}

func decode(t *testing.T, w *httptest.ResponseRecorder) said {
	t.Helper()
	var s said
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%v %s %v", w.Header(), w.Body, err)
	}
	if s.Error.Code != w.Code {
		t.Errorf("status %d, and the body says %d", w.Code, s.Error.Code)
	}
	return s
}

// TestWriteError: the table from errors to statuses. What a retry can fix is 503 with Retry-After,
// the sender's mistakes are 4xx. An unknown error is 503.
func TestWriteError(t *testing.T) {
	t.Parallel()
	unknown := errors.New("never seen")
	for err, want := range map[error]int{
		operation.ErrName: 400, operation.ErrMetadata: 400, ledger.ErrMessage: 400, ledger.ErrInvalid: 400,
		ledger.ErrNotFound: 404, ledger.ErrNoIntent: 404, ledger.ErrNoJob: 404, ledger.ErrNoReason: 400,
		ledger.ErrJobDiffers: 409, ledger.ErrSettled: 409, files.ErrInput: 409, files.ErrExpired: 409,
		ledger.ErrContention: 503, ledger.ErrUnavailable: 503, context.Canceled: 503, context.DeadlineExceeded: 503,
		unknown: 503,
		&httpfunc.Error{Status: 401, Message: "no"}: 401, &httpfunc.Error{Status: 503, Message: "later"}: 503,
		&httpfunc.Error{Status: 400, Message: "no", Problems: []string{"a", "b"}}: 400,
	} {
		for form, err := range map[string]error{
			"itself": err, "wrapped": fmt.Errorf("doing x: %w", err), "joined": errors.Join(errors.New("another"), err),
		} {
			w := httptest.NewRecorder()
			httpfunc.WriteError(w, err)
			s := decode(t, w)
			if w.Code != want || s.Error.Message == "" {
				t.Errorf("%v, %s: %d %+v, want %d", err, form, w.Code, s, want)
			}
			seconds, atoiErr := strconv.Atoi(w.Header().Get("Retry-After"))
			if (want == 503) != (atoiErr == nil && seconds > 0) {
				t.Errorf("%v, %s: Retry-After %q", err, form, w.Header().Get("Retry-After"))
			}
			var problem *httpfunc.Error
			if errors.As(err, &problem) && (s.Error.Message != problem.Message ||
				len(s.Error.Problems) != len(problem.Problems)) {
				t.Errorf("%v, %s: %+v", err, form, s)
			}
		}
	}
}

// TestOnlyPOST: any other method is answered 405 with Allow, and does not reach the handler [W7].
func TestOnlyPOST(t *testing.T) {
	t.Parallel()
	reached := 0
	h := httpfunc.OnlyPOST(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	for _, method := range []string{"GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "post", ""} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Method = method
		h.ServeHTTP(w, r)
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" || reached != 0 {
			t.Errorf("%q: %d %v, reached %d", method, w.Code, w.Header(), reached)
		}
	}
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
	if reached != 1 {
		t.Error("POST does not reach the handler")
	}
}
