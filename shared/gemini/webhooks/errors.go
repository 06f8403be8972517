package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/opledger/opledger/shared/gemini/api"
)

// maxMessage bounds Error.Message, in bytes.
const maxMessage = 512

// ErrID says that an id is not a webhook's. Nothing was sent.
var ErrID = errors.New("a webhook's id is letters, digits, - and _ only")

// An Error says that a call failed. It wraps nothing but the end of a context: another error may
// quote the answer.
type Error struct {
	// Doing is what was attempted, such as "pinging webhook abc".
	Doing string
	// Status is the HTTP status; 0 where no answer came.
	Status int
	// Message is what Gemini said, or what went wrong, at most 512 bytes, without the API key.
	Message string

	// read: what was attempted changes nothing.
	read  bool
	cause error
}

// Error returns what was attempted, what came back, and what to do.
func (e *Error) Error() string {
	said := "no answer"
	if e.Status != 0 {
		said = fmt.Sprintf("Gemini answers %d", e.Status)
	}
	return fmt.Sprintf("%s: %s: %s; %s", e.Doing, said, e.Message, e.advice())
}

// Unwrap returns context.Canceled or context.DeadlineExceeded where that is what ended the call.
func (e *Error) Unwrap() error { return e.cause }

// NotFound reports whether there is no such webhook.
func (e *Error) NotFound() bool { return e.Status == http.StatusNotFound }

// Unanswered reports whether a change may have been made although the call failed: no answer came,
// or one that does not say. It is false for a call that changes nothing.
func (e *Error) Unanswered() bool { return !e.read && !e.refused() }

// refused reports whether Gemini did not take the request.
func (e *Error) refused() bool { return e.Status >= 400 && e.Status < 500 }

func (e *Error) advice() string {
	switch {
	case e.NotFound():
		return "there is no such webhook"
	// By its text: Gemini answers 400 for a wrong key, and errors about webhooks need have no details.
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden,
		e.refused() && strings.Contains(strings.ToLower(e.Message), "api key"):
		return "check the API key and its project"
	case e.Status == http.StatusTooManyRequests:
		return "wait a minute and try again"
	case e.refused():
		return "correct the request"
	case e.read:
		return "try again"
	default:
		return "check whether it was done, and try again"
	}
}

// A call is one request: what is attempted, and whether that changes nothing.
type call struct {
	doing string
	read  bool
}

// do makes a request, bounded by timeout, and reads the answer into answer. in and query may be nil.
func (c *Client) do(
	ctx context.Context, what call, method, resource string, query url.Values, in, answer any,
) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := c.api.Call(ctx, method, resource, query, in, answer); err != nil {
		return what.failed(c, err)
	}
	return nil
}

// failed returns the Error for an error of package api. One about a 200 is not repeated: the answer
// may hold a secret.
func (what call) failed(c *Client, err error) *Error {
	e := &Error{Doing: what.doing, read: what.read}
	var refused *api.Error
	switch {
	case errors.As(err, &refused):
		e.Status, e.Message = refused.Status, refused.Message
	case errors.Is(err, api.ErrInterrupted):
		e.Message = c.api.Redact(err.Error(), maxMessage)
	default:
		return what.unreadable("an answer that cannot be read")
	}
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			e.cause = end
		}
	}
	return e
}

// unreadable is the Error about a 200 that is not what the API promises.
func (what call) unreadable(message string) *Error {
	return &Error{Doing: what.doing, Status: http.StatusOK, Message: message, read: what.read}
}
