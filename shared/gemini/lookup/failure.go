package lookup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini/api"
)

const (
	// maxErrorText bounds LookupError.Message, in bytes.
	maxErrorText = 512
	// maxQuoted bounds, in bytes, what an error repeats of a name.
	maxQuoted = 120
)

// A LookupError says why an operation's state, or a page of a listing, is not known. It wraps
// nothing but the end of a context: another error may quote the answer, in which a server may repeat
// the API key.
type LookupError struct {
	// Resource is the requested name.
	Resource string
	// Reason is one of the reasons in answer.go.
	Reason string
	// Code is the HTTP status of an answer other than 200, else 0.
	Code int
	// Message is what went wrong, at most 512 bytes, without the API key.
	Message string
	// RetryAfter is how long Gemini asks to wait, at most a day; 0 if it does not ask.
	RetryAfter time.Duration

	cause error
}

func (e *LookupError) Error() string {
	return fmt.Sprintf("looking %s up: %s: %s", diag.QuoteUpTo(e.Resource, maxQuoted), e.Reason, e.Message)
}

// Unwrap returns context.Canceled or context.DeadlineExceeded where that is what ended the look-up.
func (e *LookupError) Unwrap() error { return e.cause }

// problem returns an error whose message may quote the server, redacted and cut.
func (c *Client) problem(resource, reason, format string, args ...any) *LookupError {
	return &LookupError{
		Resource: resource,
		Reason:   reason,
		Message:  c.api.Redact(fmt.Sprintf(format, args...), maxErrorText),
	}
}

// failure gives every failed request its reason: from the HTTP status of an answer other than 200,
// else from the error of reading or decoding it.
func (c *Client) failure(resource string, err error) *LookupError {
	if refused, ok := errors.AsType[*api.Error](err); ok {
		return c.refused(resource, refused)
	}
	reason := BadAnswer
	var timeout net.Error
	switch {
	case errors.Is(err, context.Canceled):
		reason = Cancelled
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		reason = Timeout
	case errors.Is(err, api.ErrTooLarge):
		reason = TooLarge
	case errors.Is(err, api.ErrInterrupted):
		reason = Unavailable
	}
	failure := c.problem(resource, reason, "%v", err)
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			failure.cause = end
		}
	}
	return failure
}

// refused is failure for an answer other than 200.
func (c *Client) refused(resource string, e *api.Error) *LookupError {
	failure := c.problem(resource, reasonOf(e.Status), "HTTP status %d: %s", e.Status, e.Message)
	failure.Code, failure.RetryAfter = e.Status, e.RetryAfter
	if e.InvalidKey {
		failure.Reason = Denied
	}
	return failure
}

// reasonOf maps HTTP statuses other than 200 to reasons.
func reasonOf(status int) string {
	switch {
	case status == http.StatusNotFound, status == http.StatusGone:
		return NotFound
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Denied
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return Timeout
	case status >= 400 && status < 500:
		return Refused
	case status >= 300:
		return Unavailable // a redirect too, which is not followed
	default:
		return BadAnswer
	}
}
