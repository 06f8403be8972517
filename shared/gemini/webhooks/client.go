package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/genai"
	"google.golang.org/genai/interactions/models/operations"
	"google.golang.org/genai/interactions/retry"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/redact"
)

// timeout ends a request that nobody else's deadline ended.
const timeout = 20 * time.Second

// Options says how to reach Gemini.
type Options struct {
	// APIKey is required; white space around it is ignored. It is sent in a header, only to BaseURL's host, and is never
	// in an error.
	APIKey string
	// BaseURL replaces Gemini's address, for a simulator or a proxy, as [gemini.CheckBaseURL] takes it. Empty:
	// GOOGLE_GEMINI_BASE_URL, which is held to the same, else Gemini's own.
	BaseURL string
	// HTTP is copied, not changed. Nil: a client of the package's own. A request is given up after 20 seconds in any case.
	HTTP *http.Client
}

// String leaves the key out, however the options are printed.
func (o Options) String() string { return "webhooks.Options" }

// GoString is String, for %#v.
func (o Options) GoString() string { return o.String() }

// ErrNoAPIKey says that a client was to be made without an API key.
var ErrNoAPIKey = errors.New("no Gemini API key")

var errRedirect = errors.New("redirects are not followed")

// A Client manages webhooks. Every error of its methods is an *Error, but for an id that no webhook can have. It is safe for
// concurrent use and holds nothing that must be closed beside what Options.HTTP holds.
type Client struct {
	genai    *genai.Client
	redactor *redact.Redactor // of what others say of requests
}

// NewClient returns a client for the Gemini API. It sends nothing. The error is ErrNoAPIKey, or says what is wrong with the
// options without repeating the key. The environment's key is not used, so that a wrong setting cannot change the webhooks of
// another project.
func NewClient(ctx context.Context, o Options) (*Client, error) {
	key := strings.TrimSpace(o.APIKey)
	if key == "" {
		return nil, ErrNoAPIKey
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("making a Gemini client: the API key holds characters that no key has")
	}
	transport := http.Client{}
	if o.HTTP != nil {
		transport = *o.HTTP
	}
	// net/http would carry the API key's header to wherever a redirect leads, and the SDK takes a redirect for a success.
	transport.CheckRedirect = func(*http.Request, []*http.Request) error { return errRedirect }
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey:      key,
		Backend:     genai.BackendGeminiAPI, // else the environment may turn it to another service
		HTTPClient:  &transport,
		HTTPOptions: genai.HTTPOptions{BaseURL: o.BaseURL},
	})
	if err != nil {
		// The SDK prints its whole configuration, with the key, into some errors.
		return nil, fmt.Errorf("making a Gemini client: %s", redact.ForKey(key, o.BaseURL).Cut(err.Error(), maxErrorText))
	}
	// Only now is it known which address the SDK takes: it reads the environment, too.
	base := client.ClientConfig().HTTPOptions.BaseURL
	if err := gemini.CheckBaseURL(base); err != nil {
		return nil, fmt.Errorf("making a Gemini client: the base URL: %w", err)
	}
	return &Client{genai: client, redactor: redact.ForKey(key, base)}, nil
}

// String says nothing of the key, however c is printed.
func (c *Client) String() string { return "webhooks.Client" }

// GoString is String, for %#v.
func (c *Client) GoString() string { return c.String() }

// once switches off what this half of the SDK does by default: four repetitions, also of a POST.
func once() operations.Option { return operations.WithRetries(retry.Config{Strategy: "none"}) }
