package lookup

import (
	"context"
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/excerpt"
	"github.com/opledger/opledger/shared/operation"
)

// Lookup asks Gemini for the state of the operation, and never fails otherwise than by an Answer that is not known. It sends
// one request, with the name as Gemini gave it where Gemini's client takes that [K5]; and a second one for the same batch
// where the answer to the first is a BadAnswer or TooLarge, to read it without the results, however large it is. The context
// bounds both, and each has the time that Options.HTTP gives a request.
//
// It looks up batches; operations (videos) and interactions are Unsupported in this revision.
func (c *Client) Lookup(ctx context.Context, name operation.Name) Answer {
	if err := checkID(name.Key); err != nil {
		return unknown(name, InvalidName, "%s", err)
	}
	// One collection, one file: each has its own request and its own words for its states.
	switch name.Key.Collection() {
	case operation.Batches:
		return c.lookupBatch(ctx, name)
	default:
		return unknown(name, Unsupported, "operations of this collection cannot be looked up")
	}
}

// survive, deferred around a call of the SDK, makes an answer of a panic. The SDK asserts types on what the server sent: a 200
// whose body is "null", or whose output is a text, makes it panic. One such answer must not end the pass for all others [R6].
func (c *Client) survive(name operation.Name, answer *Answer) {
	if problem := recover(); problem != nil {
		*answer = unknown(name, BadAnswer, "the client could not read the answer: %s", redact(fmt.Sprint(problem), c.key))
	}
}

// checkID refuses a name whose id would not stay one segment of a path: an id can come from outside, and must not turn the
// request into another one by a query, a dot segment or a verb after a colon.
func checkID(key operation.Key) error {
	id := key.ID()
	if key.Collection() == "" {
		return nil // unsupported, whatever it is
	}
	if id == "" || id == "." || id == ".." {
		return fmt.Errorf("%s is no id", excerpt.Quote(id, maxQuoted))
	}
	odd := func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("-._~=", r)
	}
	if i := strings.IndexFunc(id, odd); i >= 0 {
		return fmt.Errorf("id %s holds characters that no id has", excerpt.Quote(id, maxQuoted))
	}
	return nil
}
