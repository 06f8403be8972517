// Package cancel asks Gemini to cancel operations.
//
// A cancellation is best effort: Gemini begins no more of a batch's requests, and the state changes some
// time later, or not at all where the operation succeeds first. Gemini announces none of it by webhook, so
// that only a look-up tells how the operation ended. What is done by then may be billed.
package cancel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/operation"
)

// timeout bounds one call of a Client.
const timeout = 30 * time.Second

// Options says how to reach Gemini. Its Timeout is by default 30 s.
type Options = api.Options

// ErrUnsupported: Gemini cannot cancel an operation of this kind, such as a video.
var ErrUnsupported = errors.New("no operation of this kind can be cancelled at Gemini")

// A Client cancels operations. It is safe for concurrent use and needs no closing.
type Client struct{ api *api.Client }

// NewClient returns a client for the Gemini API. It sends nothing. Errors: as [api.New]; they hold
// neither the key nor the address.
func NewClient(o Options) (*Client, error) {
	o.Timeout = cmp.Or(o.Timeout, timeout)
	base, err := api.New(o)
	if err != nil {
		return nil, fmt.Errorf("making a client for cancellations: %w", err)
	}
	return &Client{api: base}, nil
}

// Cancel asks Gemini to cancel an operation. Nil: Gemini has taken the request. Asking again is safe.
//
// Errors: ErrUnsupported; [operation.ErrName] for a name that no request can carry; an *[api.Error] for
// Gemini's refusal; else the connection's, after which Gemini may have taken it.
func (c *Client) Cancel(ctx context.Context, name operation.Name) error {
	path, err := name.Path()
	if err != nil {
		return err
	}
	verb := verbOf(name.Key)
	if verb == "" {
		return ErrUnsupported
	}
	return c.api.Call(ctx, http.MethodPost, path+verb, nil, struct{}{}, &struct{}{})
}

// Supports reports whether Gemini can cancel operations of this kind.
func Supports(key operation.Key) bool { return verbOf(key) != "" }

// verbOf is what follows the path of an operation that can be cancelled; empty of any other.
func verbOf(key operation.Key) string {
	switch key.Collection() {
	case operation.Batches:
		return ":cancel"
	case operation.Interactions:
		return "/cancel"
	default:
		return ""
	}
}
