package lookup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/excerpt"
	"github.com/opledger/opledger/shared/operation"
)

// maxErrorText bounds what an error repeats of a server's words, in bytes. Some of the SDK's errors hold the whole answer.
const maxErrorText = 512

// maxQuoted bounds, in bytes, what an error repeats of a name.
const maxQuoted = 120

// A LookupError says why an operation's state is not known. It holds no error of the SDK, because those can hold a whole
// answer and whatever a server repeats of the request, the API key among it; only the end of a context is unwrapped.
type LookupError struct {
	// Resource is the name that was asked for.
	Resource string
	// Reason is one of Reasons.
	Reason string
	// Code is the HTTP status or Gemini's own code for the error; 0 where there is none.
	Code int
	// Message is what went wrong, at most 512 bytes, without the API key.
	Message string

	cause error
}

func (e *LookupError) Error() string {
	return fmt.Sprintf("looking %s up: %s: %s", excerpt.Quote(e.Resource, maxQuoted), e.Reason, e.Message)
}

// Unwrap returns context.Canceled or context.DeadlineExceeded where that is what ended the look-up.
func (e *LookupError) Unwrap() error { return e.cause }

func newLookupError(name operation.Name, reason, format string, args ...any) *LookupError {
	return &LookupError{
		Resource: name.Resource,
		Reason:   reason,
		Message:  excerpt.Cut(fmt.Sprintf(format, args...), maxErrorText),
	}
}

// failed is the answer for an error of the SDK: the one place where its errors become reasons.
func (c *Client) failed(name operation.Name, err error) Answer {
	verdict := classify(err)
	failure := newLookupError(name, verdict.reason, "%s", redact(verdict.message, c.key))
	failure.Code = verdict.code
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			failure.cause = end
		}
	}
	return Answer{Reason: verdict.reason, RetryAfter: verdict.retryAfter, Err: failure}
}

// A verdict is what an error of the SDK amounts to.
type verdict struct {
	reason     string
	code       int
	message    string
	retryAfter time.Duration
}

// classify finds the reason in an error of the SDK's. The error types of its other half (interactions, webhooks) each
// become a case here.
func classify(err error) verdict {
	var api genai.APIError // by value: the SDK returns no pointer
	if errors.As(err, &api) {
		return classifyAPI(api)
	}
	v := verdict{reason: Unavailable, message: err.Error()}
	var (
		timeout  net.Error
		syntax   *json.SyntaxError
		mismatch *json.UnmarshalTypeError
		clock    *time.ParseError
		request  *url.Error
	)
	switch {
	case errors.Is(err, context.Canceled):
		v.reason = Cancelled
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		v.reason = Timeout
	case errors.Is(err, errTooLarge):
		v.reason = TooLarge
	case errors.As(err, &request):
		v.reason = Unavailable // never came to an answer
	case errors.As(err, &syntax), errors.As(err, &mismatch), errors.As(err, &clock):
		v.reason = BadAnswer
	}
	return v
}

// classifyAPI reads an error that Gemini sent, or a front end before it. Code is the body's own where the body is an API
// error, else the HTTP status, and 0 where the body says only the status word.
func classifyAPI(e genai.APIError) verdict {
	v := verdict{code: e.Code, message: fmt.Sprintf("Gemini says %d %s: %s", e.Code, e.Status, e.Message)}
	v.reason = reasonOfCode(e.Code)
	if v.reason == "" {
		v.reason = reasonOfStatus(e.Status)
	}
	for _, detail := range e.Details {
		// Gemini answers 400 to a key that is wrong or expired, and says so only here.
		if detail["reason"] == "API_KEY_INVALID" {
			v.reason = Denied
		}
		if delay, ok := detail["retryDelay"].(string); ok {
			if d, err := time.ParseDuration(delay); err == nil && d > 0 {
				v.retryAfter = d
			}
		}
	}
	return v
}

// reasonOfCode returns "" for a code that is no HTTP error.
func reasonOfCode(code int) string {
	switch {
	case code == http.StatusNotFound, code == http.StatusGone:
		return NotFound
	case code == http.StatusTooManyRequests:
		return RateLimited
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return Denied
	case code == http.StatusRequestTimeout, code == http.StatusGatewayTimeout:
		return Timeout
	case code >= 400 && code < 500:
		return Refused
	case code >= 300:
		return Unavailable // also a redirect, which is not followed
	default:
		return ""
	}
}

// reasonOfStatus reads the status word of an error without a code.
func reasonOfStatus(status string) string {
	switch status {
	case "NOT_FOUND":
		return NotFound
	case "RESOURCE_EXHAUSTED":
		return RateLimited
	case "PERMISSION_DENIED", "UNAUTHENTICATED":
		return Denied
	case "DEADLINE_EXCEEDED":
		return Timeout
	case "INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE", "UNIMPLEMENTED", "ALREADY_EXISTS":
		return Refused
	default:
		return Unavailable
	}
}
