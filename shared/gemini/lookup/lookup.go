package lookup

import (
	"context"
	"io"
	"net/url"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/operation"
)

// A reading is an answer about one operation, while it is read and after. Each collection has a file with its own: its
// own members, and how it says its state.
type reading interface {
	// Members are what is read of the answer.
	Members() api.Members
	// about is the name in it.
	about() string
	// answer is what it says of the operation that was asked for.
	answer(c *Client, resource string) Answer
}

// Lookup asks Gemini for the state of an operation, with one request. Every failure is an Answer
// that is not known. The context and Options.Timeout bound its time.
//
// It supports batches, operations (videos) and interactions; other collections are Unsupported.
func (c *Client) Lookup(ctx context.Context, name operation.Name) Answer {
	var r reading
	switch name.Key.Collection() {
	case operation.Batches:
		r = &batch{}
	case operation.Operations:
		r = &video{}
	case operation.Interactions:
		r = &interaction{}
	default:
		return unknown(c.problem(name.Resource, Unsupported, "operations of this collection cannot be looked up"))
	}
	path, err := name.Path()
	if err != nil {
		return unknown(c.problem(name.Resource, InvalidName, "%s", err))
	}
	failure := c.get(ctx, name.Resource, path, nil, func(body io.Reader) error {
		if err := api.NewJSON(body).DocumentOf(r.Members()); err != nil {
			return err
		}
		return api.CheckAbout(name, r.about())
	})
	if failure != nil {
		return unknown(failure)
	}
	return r.answer(c, name.Resource)
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
