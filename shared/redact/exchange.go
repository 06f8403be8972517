package redact

import (
	"context"
	"net/http"
	"sync"
)

// An Exchange remembers the last request that a [Transport] sent under its context.
type Exchange struct {
	mu   sync.Mutex
	last *http.Request
}

type exchangeKey struct{}

// Watch returns a context under which a Transport notes the requests that it sends in the Exchange.
func Watch(ctx context.Context) (context.Context, *Exchange) {
	x := &Exchange{}
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// Redactor returns a Redactor that removes what the last request carried.
func (x *Exchange) Redactor() *Redactor {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := &Redactor{}
	if x.last != nil {
		r.AddRequest(x.last)
	}
	return r
}

// A Transport is placed below what adds credentials to a request, so that they are noted too.
type Transport struct{ Next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if x, ok := request.Context().Value(exchangeKey{}).(*Exchange); ok {
		x.mu.Lock()
		x.last = request
		x.mu.Unlock()
	}
	return t.Next.RoundTrip(request) //nolint:wrapcheck // a transport passes errors on; net/http wraps them
}
