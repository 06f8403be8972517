package lookup

import (
	"context"
	"io"
	"net/url"

	"github.com/opledger/opledger/shared/operation"
)

// Lookup asks Gemini for the state of an operation, with one request. Every failure is an Answer
// that is not known. The context and Options.Timeout bound its time.
//
// It supports batches, operations (videos) and interactions; other collections are Unsupported.
func (c *Client) Lookup(ctx context.Context, name operation.Name) Answer {
	var ask func(context.Context, operation.Name, string) Answer
	// Each collection has a file, with its own request and its own words for states.
	switch name.Key.Collection() {
	case operation.Batches:
		ask = c.lookupBatch
	case operation.Operations:
		ask = c.lookupVideo
	case operation.Interactions:
		ask = c.lookupInteraction
	default:
		return unknown(c.problem(name.Resource, Unsupported, "operations of this collection cannot be looked up"))
	}
	path, err := name.Path()
	if err != nil {
		return unknown(c.problem(name.Resource, InvalidName, "%s", err))
	}
	return ask(ctx, name, path)
}

// get requests path and calls read with the body of a 200, which is streamed. It returns nil or what
// went wrong with the look-up of resource.
func (c *Client) get(
	ctx context.Context, resource, path string, query url.Values, read func(io.Reader) error,
) *LookupError {
	body, err := c.api.Get(ctx, path, query)
	if err == nil {
		defer func() { _ = body.Close() }()
		err = read(body)
	}
	if err != nil {
		return c.failure(resource, err)
	}
	return nil
}
