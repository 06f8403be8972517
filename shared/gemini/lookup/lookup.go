package lookup

import (
	"context"
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// Lookup asks Gemini for the state of the operation, and never fails otherwise than by an Answer
// that is not known. It sends one request, with the name as Gemini gave it where the API needs more
// than its key [K5]. The context and Options.HTTP bound its time.
//
// It looks up batches, operations (videos) and interactions; other collections are Unsupported.
func (c *Client) Lookup(ctx context.Context, name operation.Name) Answer {
	var (
		path string
		ask  func(context.Context, operation.Name, string) Answer
	)
	// One collection, one file: each has its own request and its own words for its states.
	switch name.Key.Collection() {
	case operation.Batches:
		path, ask = string(name.Key), c.lookupBatch
	case operation.Operations:
		path, ask = videoPath(name), c.lookupVideo
	case operation.Interactions:
		path, ask = name.Key.ID(), c.lookupInteraction
	default:
		return unknown(c.problem(name.Resource, Unsupported, "operations of this collection cannot be looked up"))
	}
	if err := checkPath(path); err != nil {
		return unknown(c.problem(name.Resource, InvalidName, "%s", err))
	}
	return ask(ctx, name, path)
}

// checkPath refuses a name whose segments would not stay what they are in a URL: a name can come
// from outside, and must not turn the request into another one by a query, a dot segment or a verb
// after a colon.
func checkPath(path string) error {
	odd := func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("-._~=", r)
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return fmt.Errorf("%s is no part of a name", diag.QuoteUpTo(segment, maxQuoted))
		}
		if strings.ContainsFunc(segment, odd) {
			return fmt.Errorf("%s holds characters that no name has", diag.QuoteUpTo(segment, maxQuoted))
		}
	}
	return nil
}

// isAbout returns nil if said, the name in an answer, is that of the operation that was asked for,
// or missing.
func isAbout(name operation.Name, said string) error {
	if said == "" {
		return nil
	}
	if got, err := operation.ParseName(said, name.Key.Collection()); err != nil || got.Key != name.Key {
		return fmt.Errorf("the answer is about %s", diag.QuoteUpTo(said, maxQuoted))
	}
	return nil
}

// survive, deferred around a call of the SDK, makes an answer of a panic. The SDK asserts types on
// what the server sent: a 200 whose body is "null", or whose response is a text, makes it panic.
// One such answer must not end the pass for all others [R6].
func (c *Client) survive(name operation.Name, answer *Answer) {
	if problem := recover(); problem != nil {
		*answer = unknown(c.problem(name.Resource, BadAnswer, "the client could not read the answer: %v", problem))
	}
}
