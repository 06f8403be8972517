package storage

import (
	"context"
	"net/http"
	"sync"

	"github.com/opledger/opledger/shared/diag"
)

// A sentRequest remembers the last request that a noteSent sent under its context.
type sentRequest struct {
	mu   sync.Mutex
	last *http.Request
}

type sentRequestKey struct{}

// watchSent returns a context under which a noteSent notes the requests that it sends.
func watchSent(ctx context.Context) (context.Context, *sentRequest) {
	s := &sentRequest{}
	return context.WithValue(ctx, sentRequestKey{}, s), s
}

// Redactor returns a Redactor that removes what the last request carried.
func (s *sentRequest) Redactor() *diag.Redactor {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &diag.Redactor{}
	if s.last != nil {
		r.AddRequest(s.last)
	}
	return r
}

// noteSent is placed below what adds credentials to a request, so that they are noted too.
type noteSent struct{ Next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t noteSent) RoundTrip(request *http.Request) (*http.Response, error) {
	if s, ok := request.Context().Value(sentRequestKey{}).(*sentRequest); ok {
		s.mu.Lock()
		s.last = request
		s.mu.Unlock()
	}
	return t.Next.RoundTrip(request) //nolint:wrapcheck // a transport passes errors on; net/http wraps them
}
