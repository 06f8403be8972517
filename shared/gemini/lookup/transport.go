package lookup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
)

const (
	// maxRefusal is how much is read of an answer that is not 200, in bytes.
	maxRefusal = 64 << 10
	// anySize is no bound on an answer.
	anySize = math.MaxInt64 - 1
)

// errTooLarge says that an answer, or one value in it, weighs more than may be held.
var errTooLarge = errors.New("the answer is larger than allowed")

// An exchange is what one request met. The SDK keeps less of it: not the HTTP status of every error, and no header.
type exchange struct {
	status int // 0: there was no answer
	header http.Header
	// refusal is the beginning of an answer that is not 200.
	refusal []byte
	// broken says that the body of a 200 could not be read to its end.
	broken bool
}

type exchangeKey struct{}

// watched returns a context that has the transport write down what a request under it meets. One request: it is not safe for
// several at once.
func watched(ctx context.Context) (context.Context, *exchange) {
	x := new(exchange)
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// guarded returns a copy of client (nil: one with a timeout) that reads at most maxAnswer bytes of an answer and writes down
// what it met. It does not follow redirects, because net/http would carry the API key's header to wherever they lead.
func guarded(client *http.Client, maxAnswer int64) *http.Client {
	c := http.Client{Timeout: defaultTimeout}
	if client != nil {
		c = *client
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Transport = &transport{next: c.Transport, max: maxAnswer}
	return &c
}

// A transport fails the reading of an answer that is too large, and fills in the request's exchange.
type transport struct {
	next http.RoundTripper
	max  int64
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(req)
	if err != nil {
		return nil, err //nolint:wrapcheck // a transport passes errors on; net/http wraps them
	}
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		x = new(exchange)
	}
	x.status, x.header = resp.StatusCode, resp.Header
	if resp.StatusCode != http.StatusOK {
		// An error here takes nothing from what the status says.
		x.refusal, _ = io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
		_ = resp.Body.Close()
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(x.refusal)), int64(len(x.refusal))
		return resp, nil
	}
	if resp.ContentLength > t.max {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%w: %d bytes, more than %d", errTooLarge, resp.ContentLength, t.max)
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: t.max, exchange: x}
	return resp, nil
}

// A boundedBody reads at most left bytes and then fails, rather than ending as if there were no more.
type boundedBody struct {
	io.ReadCloser
	left     int64
	exchange *exchange
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	// One byte more than is left shows whether there is more.
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.exchange.broken = true
	}
	b.left -= int64(n)
	if b.left < 0 {
		return n - 1, errTooLarge
	}
	return n, err //nolint:wrapcheck // io.EOF must stay io.EOF
}
