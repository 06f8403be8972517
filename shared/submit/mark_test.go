package submit

import (
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"google.golang.org/genai"
	"google.golang.org/genai/interactions/models/apierrors"
)

// TestOnce: what the caller set for the request stays, and the SDK sends it once.
func TestOnce(t *testing.T) {
	t.Parallel()
	own := &genai.HTTPOptions{BaseURL: "https://proxy", Headers: http.Header{"X-Team": {"reviews"}}}
	got := once(own)
	if got.BaseURL != own.BaseURL || got.Headers.Get("X-Team") != "reviews" || *got.RetryOptions.Attempts != 1 ||
		own.RetryOptions != nil {
		t.Errorf("%+v, of %+v", got, own)
	}
	if got := once(nil); *got.RetryOptions.Attempts != 1 {
		t.Errorf("%+v", got)
	}
}

// TestRefusedByStatus: an error of the SDK that has only a status is judged by it.
func TestRefusedByStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{
		http.StatusBadRequest: true, http.StatusForbidden: true,
		http.StatusInternalServerError: false, http.StatusBadGateway: false,
	} {
		if got := RequestError(&apierrors.APIError{StatusCode: status}); errors.Is(got, ErrRefused) != want {
			t.Errorf("%d is refused: %v", status, got)
		}
	}
}

// TestRefusedByTheConnection: nothing was sent where there was no connection. What broke off later may
// run.
func TestRefusedByTheConnection(t *testing.T) {
	t.Parallel()
	for op, want := range map[string]bool{"dial": true, "write": false, "read": false} {
		if got := RequestError(&net.OpError{Op: op, Err: io.ErrUnexpectedEOF}); errors.Is(got, ErrRefused) != want {
			t.Errorf("%s: refused %v", op, got)
		}
	}
}
