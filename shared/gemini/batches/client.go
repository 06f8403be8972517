package batches

import (
	"cmp"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/gemini/api"
)

// defaultTimeout bounds a request that carries no piece of a file, and the reading of its answer.
const defaultTimeout = 30 * time.Second

// Options says how to reach Gemini. Its Timeout bounds each request that carries no piece of a file, and
// is by default 30 s. Set no Timeout of its HTTP: a piece may take as long as it goes on, and is given up
// after 2 minutes without progress.
type Options = api.Options

// A Client makes batches. It is safe for concurrent use and needs no closing.
type Client struct {
	api     *api.Client
	timeout time.Duration
}

// NewClient returns a client for the Gemini API. It sends nothing. Errors: as [api.New]; they hold
// neither the key nor the address.
func NewClient(o Options) (*Client, error) {
	c := &Client{timeout: cmp.Or(o.Timeout, defaultTimeout)}
	o.Timeout = 0
	var err error
	if c.api, err = api.New(o); err != nil {
		return nil, fmt.Errorf("making a client for batches: %w", err)
	}
	return c, nil
}
