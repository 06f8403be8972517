package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/diag"
)

const (
	// maxHeaderBytes bounds the headers of one answer.
	maxHeaderBytes = 64 << 10
	// headerTimeout ends a request whose answer does not begin.
	headerTimeout = time.Minute
	// idleConnections are kept to one host.
	idleConnections = 64
)

// Options says how to reach Gemini.
type Options struct {
	// APIKey is required; white space around it is ignored. It is sent in a header, only to
	// BaseURL's host, and is never in an error. The environment's key is not used, so that a wrong
	// setting cannot reach another project.
	APIKey string
	// BaseURL replaces Gemini's address, for a simulator or a proxy; see [CheckBaseURL]. Empty:
	// GOOGLE_GEMINI_BASE_URL, which is checked in the same way, else Gemini's own.
	BaseURL string
	// HTTP is copied, not changed. Nil: a client that waits a minute for an answer to begin and
	// takes 64 KiB of headers.
	HTTP *http.Client
	// Timeout ends a request and the reading of its answer, where HTTP is nil. Zero: what the
	// package that uses the options documents.
	Timeout time.Duration
	// Now tells the time, which turns the date in a Retry-After header into a duration. Nil:
	// time.Now.
	Now func() time.Time
}

// String shows neither the key nor the address.
func (o Options) String() string { return "api.Options" }

// GoString is String, for %#v.
func (o Options) GoString() string { return o.String() }

// ErrNoAPIKey says that there is no API key, or a blank one.
var ErrNoAPIKey = errors.New("no Gemini API key")

// CheckKey returns an API key without the white space around it. The error is ErrNoAPIKey, or says
// that the key cannot be sent in a header; it does not repeat the key.
func CheckKey(text string) (string, error) {
	key := strings.TrimSpace(text)
	switch {
	case key == "":
		return "", ErrNoAPIKey
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", errors.New("the API key holds characters that no key has")
	default:
		return key, nil
	}
}

// A Client sends requests to the Gemini API. It is safe for concurrent use and holds nothing that
// must be closed beside what Options.HTTP holds.
type Client struct {
	http      *http.Client
	base, key string
	redactor  *diag.Redactor // of what others say of requests
	now       func() time.Time
}

// New returns a client. It sends nothing. The error is ErrNoAPIKey, or says what is wrong with the
// options; it holds neither the key nor the address.
func New(o Options) (*Client, error) {
	key, err := CheckKey(o.APIKey)
	if err != nil {
		return nil, err
	}
	base := baseURL(o.BaseURL)
	if err := CheckBaseURL(base); err != nil {
		return nil, fmt.Errorf("the base URL of Gemini: %w", err)
	}
	c := &Client{base: base, key: key, redactor: diag.ForAPIKey(key, base), now: o.Now}
	if c.now == nil {
		c.now = time.Now
	}
	own := *cmp.Or(o.HTTP, &http.Client{Timeout: o.Timeout, Transport: bounded()})
	c.http = &own
	// net/http would carry the key's header to wherever a redirect leads.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// bounded is the transport of clients that are given none. They share it, and with it its
// connections.
var bounded = sync.OnceValue(func() http.RoundTripper {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	transport = transport.Clone()
	transport.ResponseHeaderTimeout, transport.MaxResponseHeaderBytes = headerTimeout, maxHeaderBytes
	// A pass asks up to 64 times at once, which without HTTP/2 are as many connections.
	transport.MaxIdleConnsPerHost = idleConnections
	return transport
})

// String never shows the key.
func (c *Client) String() string { return "api.Client" }

// GoString is String, for %#v.
func (c *Client) GoString() string { return c.String() }

// Redact returns at most limit bytes of a text that a server chose, without the API key and without
// what the base URL holds beside the host.
func (c *Client) Redact(text string, limit int) string { return c.redactor.Cut(text, limit) }
