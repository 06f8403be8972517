package results

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/redact"
)

// Options says how to reach Gemini.
type Options struct {
	// APIKey is required. It is sent in a header, only to BaseURL's host, and is never in an error.
	APIKey string
	// BaseURL replaces Gemini's address, for a simulator or a proxy, as [gemini.CheckBaseURL] takes it. Empty: Gemini's own.
	BaseURL string
	// HTTP is copied, not changed; it must not bound the time of a whole download. Nil: a client that waits a minute for an
	// answer to begin. With any, a download takes as long as the context allows, and no longer than a minute without a byte.
	HTTP *http.Client
}

const (
	defaultBaseURL = "https://generativelanguage.googleapis.com"
	apiVersion     = "v1beta"
	answerTimeout  = time.Minute
)

// A Client fetches results. It is safe for concurrent use, never repeats a request that failed, and changes nothing at Gemini.
type Client struct {
	http     *http.Client
	base     string
	key      string
	redactor *redact.Redactor // of what others say of requests
}

// New returns a client. It sends nothing. The error says what is wrong with the options, without repeating the key.
func New(o Options) (*Client, error) {
	key := strings.TrimSpace(o.APIKey)
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("making a client for results: the API key is missing or holds characters that no key has")
	}
	if o.BaseURL == "" {
		o.BaseURL = defaultBaseURL
	}
	if err := gemini.CheckBaseURL(o.BaseURL); err != nil {
		return nil, fmt.Errorf("making a client for results: the base URL: %w", err)
	}
	client := http.Client{}
	if o.HTTP != nil {
		client = *o.HTTP
	} else if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = transport.Clone()
		transport.ResponseHeaderTimeout = answerTimeout
		client.Transport = transport
	}
	// net/http would carry the key's header to wherever a redirect leads.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{http: &client, base: o.BaseURL, key: key, redactor: redact.ForKey(key, o.BaseURL)}, nil
}

// String says nothing of the key, however o is printed.
func (o Options) String() string { return "results.Options" }

// GoString is String, for %#v.
func (o Options) GoString() string { return o.String() }

// String says nothing of the key, however c is printed.
func (c *Client) String() string { return "results.Client" }

// GoString is String, for %#v.
func (c *Client) GoString() string { return c.String() }

// get asks for a resource, such as "files/batch-abc:download", and returns the body of a 200 to be read as it comes; it must be
// closed. The error is a *StatusError for any other answer.
func (c *Client) get(ctx context.Context, resource, query string) (io.ReadCloser, error) {
	address, err := url.JoinPath(c.base, apiVersion, resource)
	if err != nil {
		return nil, fmt.Errorf("making the address of %s: %w", resource, c.redactor.Error(err))
	}
	ctx, end := context.WithCancelCause(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		end(nil)
		return nil, fmt.Errorf("making the request for %s: %w", resource, c.redactor.Error(err))
	}
	request.URL.RawQuery = query
	request.Header.Set("X-Goog-Api-Key", c.key)
	response, err := c.http.Do(request)
	if err != nil {
		end(nil)
		return nil, fmt.Errorf("fetching %s: %w", resource, c.redactor.Error(err))
	}
	response.Body = &stallable{ReadCloser: response.Body, ctx: ctx, end: end}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close() //nolint:errcheck // the answer has been judged by its status
	return nil, c.refusal(resource, response)
}
