package lookup

import (
	"cmp"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/api"
)

// defaultTimeout bounds a request and the reading of its answer. Gemini itself was reported to give
// up on some batches after 60 s.
const defaultTimeout = 30 * time.Second

// Options says how to reach Gemini. Its Timeout is by default 30 s.
type Options = api.Options

// A Client looks operations up at Gemini. It is safe for concurrent use and needs no closing. It
// never repeats a failed request (the next pass does), and never changes anything at Gemini.
type Client struct{ api *api.Client }

// NewClient returns a client for the Gemini API. It sends nothing. Errors: as [api.New]; they hold
// neither the key nor the address.
func NewClient(o Options) (*Client, error) {
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	base, err := api.New(o)
	if err != nil {
		return nil, fmt.Errorf("making a client for look-ups: %w", err)
	}
	return &Client{api: base}, nil
}

// errorTexts redacts and cuts an operation's error code and message for a record.
func (c *Client) errorTexts(code, message string) (string, string) {
	return c.api.Redact(code, gemini.MaxErrorCode), c.api.Redact(message, gemini.MaxErrorMessage)
}
