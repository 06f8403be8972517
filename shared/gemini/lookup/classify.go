package lookup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/retryafter"
)

const (
	// maxErrorText bounds what an error repeats of a server's words, in bytes. Some of the SDK's errors hold the whole answer.
	maxErrorText = 512
	// maxQuoted bounds, in bytes, what an error repeats of a name.
	maxQuoted = 120
	// maxRetryAfter bounds what Gemini may ask for: nobody waits longer on one word.
	maxRetryAfter = 24 * time.Hour
)

// A LookupError says why an operation's state, or a page of a listing, is not known. It holds no error of the SDK, because
// those can hold a whole answer and whatever a server repeats of the request, the API key among it; only the end of a context
// is unwrapped.
type LookupError struct {
	// Resource is the name that was asked for.
	Resource string
	// Reason is one of Reasons.
	Reason string
	// Code is the HTTP status of an answer that is not 200, else 0.
	Code int
	// Message is what went wrong, at most 512 bytes, without the API key.
	Message string
	// RetryAfter is how long Gemini asks to be left alone, at most a day; zero where it does not say.
	RetryAfter time.Duration

	cause error
}

func (e *LookupError) Error() string {
	return fmt.Sprintf("looking %s up: %s: %s", diag.QuoteUpTo(e.Resource, maxQuoted), e.Reason, e.Message)
}

// Unwrap returns context.Canceled or context.DeadlineExceeded where that is what ended the look-up.
func (e *LookupError) Unwrap() error { return e.cause }

// problem is an error in words that may repeat what a server said.
func (c *Client) problem(resource, reason, format string, args ...any) *LookupError {
	return &LookupError{Resource: resource, Reason: reason, Message: c.redactor.Cut(fmt.Sprintf(format, args...), maxErrorText)}
}

// failure is the one place where a request that failed gets its reason: by its HTTP status, where an answer came that is not
// 200, and else by the error that reading or decoding it ended in, the SDK's or ours.
func (c *Client) failure(resource string, x *exchange, err error) *LookupError {
	if x.status != 0 && x.status != http.StatusOK {
		return c.refused(resource, x)
	}
	reason := BadAnswer
	var timeout net.Error
	switch {
	case errors.Is(err, context.Canceled):
		reason = Cancelled
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		reason = Timeout
	case errors.Is(err, errTooLarge):
		reason = TooLarge
	case x.status == 0 || x.broken:
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

// refused reads an answer that is not 200. The status decides: the code in the body may be a number of HTTP's or of gRPC's, a
// word, or missing, and a front end answers in HTML.
func (c *Client) refused(resource string, x *exchange) *LookupError {
	var body struct {
		Error struct {
			Code    any    `json:"code"`
			Status  string `json:"status"`
			Message string `json:"message"`
			Details []struct {
				Reason     string `json:"reason"`
				RetryDelay string `json:"retryDelay"`
			} `json:"details"`
		} `json:"error"`
	}
	said := string(x.refusal)
	if json.Unmarshal(x.refusal, &body) == nil && (body.Error.Message != "" || body.Error.Status != "" || body.Error.Code != nil) {
		said = fmt.Sprintf("%s (code %v, status %q)", body.Error.Message, body.Error.Code, body.Error.Status)
	}
	failure := c.problem(resource, reasonOf(x.status), "HTTP status %d: %s", x.status, said)
	failure.Code = x.status
	failure.RetryAfter = retryafter.Parse(x.header.Get("Retry-After"), c.now(), maxRetryAfter)
	for _, detail := range body.Error.Details { // also of a body that is odd elsewhere
		// Gemini answers 400 to a key that is wrong or expired, and says so only here.
		if detail.Reason == "API_KEY_INVALID" {
			failure.Reason = Denied
		}
		if delay, err := time.ParseDuration(detail.RetryDelay); err == nil {
			failure.RetryAfter = min(max(failure.RetryAfter, delay), maxRetryAfter)
		}
	}
	return failure
}

// reasonOf is the table from HTTP statuses, other than 200, to reasons.
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
		return Unavailable // also a redirect, which is not followed
	default:
		return BadAnswer
	}
}
