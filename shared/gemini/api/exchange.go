package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// An Exchange is what one request of the SDK met. The SDK's own errors keep less of it: not the
// HTTP status of every refusal, and no header.
type Exchange struct {
	refused *Error
	// answered: a 200 came. broken: its body could not be read to its end.
	answered, broken bool
}

type exchangeKey struct{}

// Watch returns a context under which the SDK may send one request, and the Exchange that the
// request fills in. It is not safe for several requests at once.
func (c *Client) Watch(ctx context.Context) (context.Context, *Exchange) {
	x := new(Exchange)
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// Err returns what the request failed with, where the SDK returned err: an *Error for any answer
// but 200, even where the SDK takes it for a success; an error that wraps ErrInterrupted for one of
// the connection; else err, which is nil or about an answer that the SDK could not read.
func (x *Exchange) Err(err error) error {
	switch {
	case x.refused != nil:
		return x.refused
	case err != nil && (!x.answered || x.broken):
		return interrupted{err}
	default:
		return err
	}
}

// A transport is between the SDK and the network. It bounds what the SDK reads, and fills in the
// request's Exchange.
type transport struct {
	next   http.RoundTripper
	client *Client
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	response, err := next.RoundTrip(request)
	if err != nil {
		return nil, err //nolint:wrapcheck // a transport passes errors on; net/http wraps them
	}
	x, ok := request.Context().Value(exchangeKey{}).(*Exchange)
	if !ok {
		x = new(Exchange)
	}
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
		_ = response.Body.Close()
		response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		x.refused = t.client.refusal(request.URL.Path, response)
		response.Body = io.NopCloser(bytes.NewReader(text))
		return response, nil
	}
	x.answered = true
	if response.ContentLength > t.client.maxAnswer {
		_ = response.Body.Close()
		return nil, fmt.Errorf("%w: %d bytes, more than %d", ErrTooLarge, response.ContentLength, t.client.maxAnswer)
	}
	response.Body = &boundedBody{ReadCloser: response.Body, left: t.client.maxAnswer, exchange: x}
	return response, nil
}

// A boundedBody reads at most left bytes and then fails, rather than ending as if there were no
// more.
type boundedBody struct {
	io.ReadCloser
	left     int64
	exchange *Exchange
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
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
		return n - 1, ErrTooLarge
	}
	return n, err //nolint:wrapcheck // io.EOF must stay io.EOF
}

// A body is that of a 200, of any size.
type body struct{ io.ReadCloser }

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = interrupted{err}
	}
	return n, err //nolint:wrapcheck // io.EOF must stay io.EOF
}
