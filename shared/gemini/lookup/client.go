package lookup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/redact"
)

const (
	// defaultTimeout ends a request that nobody else's deadline ended. Reports say that Gemini itself gives up on some
	// batches after 60 s; a look-up that takes half of that is better made again.
	defaultTimeout = 30 * time.Second
	// defaultMaxAnswer is what one answer may weigh.
	defaultMaxAnswer = 32 << 20
)

// Options says how to reach Gemini.
type Options struct {
	// APIKey is required; white space around it is ignored. It is sent in a header, only to BaseURL's host, and is never
	// in an error.
	APIKey string
	// BaseURL replaces Gemini's address, for a simulator or a proxy, as [gemini.CheckBaseURL] takes it. Empty:
	// GOOGLE_GEMINI_BASE_URL, which is held to the same, else Gemini's own.
	BaseURL string
	// HTTP is copied, not changed. Nil: a client that gives a request up after 30 seconds.
	HTTP *http.Client
	// MaxAnswer bounds, in bytes, the answer about a video or an interaction, which is held in memory; one such record must not
	// end the pass that meets it [R6]. Batches are read as they come, of any size: over 1 GB was seen. Zero: 32 MiB.
	MaxAnswer int64
	// Now tells the time, which turns the date after which Gemini wants to be asked again into a duration. Nil: time.Now.
	Now func() time.Time
}

// ErrNoAPIKey says that a client was to be made without an API key.
var ErrNoAPIKey = errors.New("no Gemini API key")

// A Client asks Gemini about operations. It is safe for concurrent use, holds nothing that must be closed beside what
// Options.HTTP holds, never repeats a request that failed (the next pass does), and never changes anything at Gemini.
type Client struct {
	genai    *genai.Client
	http     *http.Client // for answers that are read as they come, of any size
	key      string
	redactor *redact.Redactor // of what others say of requests
	now      func() time.Time
}

// NewClient returns a client for the Gemini API. It sends nothing. The error is ErrNoAPIKey, or says what is wrong with the
// options without repeating the key. The key must be given: the environment's is not used, so that a wrong setting cannot
// look up the operations of another project.
func NewClient(ctx context.Context, opts Options) (*Client, error) {
	key := strings.TrimSpace(opts.APIKey)
	if key == "" {
		return nil, ErrNoAPIKey
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("making a Gemini client: the API key holds characters that no key has")
	}
	if opts.MaxAnswer <= 0 {
		opts.MaxAnswer = defaultMaxAnswer
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey:      key,
		Backend:     genai.BackendGeminiAPI, // else the environment may turn it to another service
		HTTPClient:  guarded(opts.HTTP, opts.MaxAnswer),
		HTTPOptions: genai.HTTPOptions{BaseURL: opts.BaseURL},
	})
	if err != nil {
		// The SDK prints its whole configuration, with the key, into some errors.
		return nil, fmt.Errorf("making a Gemini client: %s", redact.ForKey(key, opts.BaseURL).Cut(err.Error(), maxErrorText))
	}
	// Only now is it known which address the SDK takes: it reads the environment, too.
	base := client.ClientConfig().HTTPOptions.BaseURL
	if err := gemini.CheckBaseURL(base); err != nil {
		return nil, fmt.Errorf("making a Gemini client: the base URL: %w", err)
	}
	return &Client{
		genai: client, http: guarded(opts.HTTP, anySize), key: key, redactor: redact.ForKey(key, base), now: opts.Now,
	}, nil
}

// String leaves the key out, however the options are printed.
func (o Options) String() string { return fmt.Sprintf("lookup.Options(max answer %d)", o.MaxAnswer) }

// GoString is String, for %#v.
func (o Options) GoString() string { return o.String() }

// String says nothing of the key, however c is printed.
func (c *Client) String() string { return "lookup.Client" }

// GoString is String, for %#v.
func (c *Client) GoString() string { return c.String() }

// Bounds on what Gemini's words about an error bring into a record, as for an event's. In bytes.
const (
	maxErrorMessage = 4 << 10
	maxErrorCode    = 128
)

// errorTexts makes what Gemini says about an operation's error fit for a record.
func (c *Client) errorTexts(code, message string) (string, string) {
	return c.redactor.Cut(code, maxErrorCode), c.redactor.Cut(message, maxErrorMessage)
}
