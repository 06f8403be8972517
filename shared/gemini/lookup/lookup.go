package lookup

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// Lookup asks Gemini for the state of an operation, with one request. Every failure is an Answer
// that is not known. Where the API needs more than the key, the name is sent as Gemini gave it
// [K5]. The context and Options.Timeout bound its time.
//
// It supports batches, operations (videos) and interactions; other collections are Unsupported.
func (c *Client) Lookup(ctx context.Context, name operation.Name) Answer {
	var (
		path string
		ask  func(context.Context, operation.Name, string) Answer
	)
	// Each collection has a file, with its own request and its own words for states.
	switch name.Key.Collection() {
	case operation.Batches:
		path, ask = string(name.Key), c.lookupBatch
	case operation.Operations:
		path, ask = videoPath(name), c.lookupVideo
	case operation.Interactions:
		path, ask = string(name.Key), c.lookupInteraction
	default:
		return unknown(c.problem(name.Resource, Unsupported, "operations of this collection cannot be looked up"))
	}
	if err := checkPath(path); err != nil {
		return unknown(c.problem(name.Resource, InvalidName, "%s", err))
	}
	return ask(ctx, name, path)
}

// checkPath refuses a name that a URL would change. A name can come from outside, and must not turn
// the request into another one with a query, a dot segment or a verb after a colon.
func checkPath(path string) error {
	odd := func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("-._~=", r)
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return fmt.Errorf("%s is not part of a valid name", diag.QuoteUpTo(segment, maxQuoted))
		}
		if strings.ContainsFunc(segment, odd) {
			return fmt.Errorf("%s holds characters that no name may have", diag.QuoteUpTo(segment, maxQuoted))
		}
	}
	return nil
}

// isAbout returns nil if said, the name in an answer, is the requested one or missing.
func isAbout(name operation.Name, said string) error {
	if said == "" {
		return nil
	}
	if got, err := operation.ParseName(said, name.Key.Collection()); err != nil || got.Key != name.Key {
		return fmt.Errorf("the answer is about %s", diag.QuoteUpTo(said, maxQuoted))
	}
	return nil
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
