package webhooks

import (
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/gemini/api"
)

// timeout bounds one call of a Client.
const timeout = 20 * time.Second

// Options says how to reach Gemini. A call ends after 20 seconds, whatever its Timeout.
type Options = api.Options

// A Client manages webhooks. Every error of its methods is an *Error, or wraps ErrID. It is safe
// for concurrent use and needs no closing.
type Client struct{ api *api.Client }

// NewClient returns a client for the Gemini API. It sends nothing. Errors: as [api.New]; they hold
// neither the key nor the address.
func NewClient(o Options) (*Client, error) {
	base, err := api.New(o)
	if err != nil {
		return nil, fmt.Errorf("making a client for webhooks: %w", err)
	}
	return &Client{api: base}, nil
}
