package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/opledger/opledger/shared/gemini/api"
)

// maxMessage bounds Error.Message, in bytes.
const maxMessage = 512

// ErrID says that an id is not a webhook's. Nothing was sent.
var ErrID = errors.New("a webhook's id is letters, digits, - and _ only")

// An Error says that a call failed. It wraps nothing but the end of a context: an error of the SDK
// can hold a whole answer.
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

// A call is one call of the SDK: what is attempted, and whether that changes nothing.
type call struct {
	doing string
	read  bool
}

// do makes a call of the SDK, bounded by timeout.
func do[T any](ctx context.Context, c *Client, what call, ask func(context.Context) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ctx, x := c.api.Watch(ctx)
	answer, err = ask(ctx)
	if err := x.Err(err); err != nil {
		return answer, what.failed(c, err)
	}
	return answer, nil
}

// failed returns the Error for an error of package api, or of the SDK about a 200. The SDK quotes
// such an answer, which may hold a secret, so its error is not repeated.
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
