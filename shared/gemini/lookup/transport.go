package lookup

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

// errTooLarge says that an answer weighs more than Options.MaxAnswer.
var errTooLarge = errors.New("the answer is larger than allowed")

// guarded returns a copy of client (nil: one with a timeout) that does not follow redirects, because net/http would carry the
// API key's header to wherever they lead.
func guarded(client *http.Client) *http.Client {
	c := http.Client{Timeout: defaultTimeout}
	if client != nil {
		c = *client
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// bounded is guarded for the SDK: it also reads no more than maxAnswer bytes of an answer, because the SDK reads all of it into
// memory.
func bounded(client *http.Client, maxAnswer int64) *http.Client {
	c := guarded(client)
	if maxAnswer <= 0 {
		maxAnswer = defaultMaxAnswer
	}
	c.Transport = &boundedTransport{next: c.Transport, max: maxAnswer}
	return c
}

// A boundedTransport fails the reading of an answer that is too large.
type boundedTransport struct {
	next http.RoundTripper
	max  int64
}

// RoundTrip implements http.RoundTripper.
func (t *boundedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(req)
	if err != nil {
		return nil, err //nolint:wrapcheck // a transport passes errors on; net/http wraps them
	}
	if resp.ContentLength > t.max {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%w: %d bytes, more than %d", errTooLarge, resp.ContentLength, t.max)
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: t.max}
	return resp, nil
}

// A boundedBody reads at most left bytes and then fails, rather than ending as if there were no more.
type boundedBody struct {
	io.ReadCloser
	left int64
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
	b.left -= int64(n)
	if b.left < 0 {
		return n - 1, errTooLarge
	}
	return n, err //nolint:wrapcheck // io.EOF must stay io.EOF
}
