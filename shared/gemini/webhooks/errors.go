package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/genai/interactions/models/apierrors"
)

// maxErrorText bounds, in bytes, what an error repeats of Gemini's words.
const maxErrorText = 512

// An Error says that Gemini did not do what it was asked to. It holds no error of the SDK, because those can hold a whole
// answer; only the end of a context is unwrapped.
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

// Error says what was attempted, what came back, and what to do.
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

// Unanswered reports whether the call may have been carried out although it failed: no answer came, or one that says nothing
// about it.
func (e *Error) Unanswered() bool { return e.Status < 400 || e.Status >= 500 }

func (e *Error) advice() string {
	refused := !e.Unanswered()
	switch {
	case e.Status == http.StatusNotFound:
		return "opledger webhook list shows those there are"
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden,
		refused && strings.Contains(strings.ToLower(e.Message), "api key"):
		return "check the API key and its project"
	case e.Status == http.StatusTooManyRequests:
		return "wait a minute and try again"
	case refused:
		return "correct the request"
	case e.read:
		return "try again"
	default:
		return "look with opledger webhook list whether it was done, and try again"
	}
}

// failedRead is failed for a request that changes nothing.
func (c *Client) failedRead(err error, doing string, args ...any) *Error {
	e := c.failed(err, doing, args...)
	e.read = true
	return e
}

// failed makes an Error of one of the SDK's.
func (c *Client) failed(err error, doing string, args ...any) *Error {
	e := &Error{Doing: fmt.Sprintf(doing, args...), Message: err.Error()}
	var api *apierrors.APIError
	if errors.As(err, &api) {
		e.Status, e.Message = api.StatusCode, words(api.Body)
	}
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			e.cause = end
		}
	}
	e.Message = c.redactor.Cut(strings.Join(strings.Fields(e.Message), " "), maxErrorText)
	return e
}

// words takes the message out of an error's body, which is Google's JSON or, from a front end, anything. A body under a 200
// may hold a secret; words repeats nothing of what has no message.
func words(body string) string {
	var answer struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Error.Message == "" {
		return "an answer without a message"
	}
	return answer.Error.Message
}
