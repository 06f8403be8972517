package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/opledger/opledger/shared/diag"
)

const (
	// maxRefusal is how much is read of an answer that is not 200, in bytes.
	maxRefusal = 64 << 10
	// maxMessage and maxCanonical bound the texts of an Error, and maxQuoted what an error repeats of a
	// name, in bytes.
	maxMessage   = 512
	maxCanonical = 64
	maxQuoted    = 120
	// maxRetryAfter bounds Error.RetryAfter.
	maxRetryAfter = 24 * time.Hour
)

var (
	// ErrTooLarge says that an answer, or one value in it, is larger than may be held in memory.
	ErrTooLarge = errors.New("the answer is larger than allowed")
	// ErrInterrupted is wrapped by an error of the connection: no answer came, or it broke off. A
	// later request may succeed.
	ErrInterrupted = errors.New("no answer, or not the whole of it")
)

// interrupted is an error of the connection, in its own words.
type interrupted struct{ error }

func (e interrupted) Unwrap() error { return e.error }

func (interrupted) Is(target error) bool { return target == ErrInterrupted }

// An Error is an answer other than 200.
type Error struct {
	// Resource is what was asked for.
	Resource string
	// Status is the HTTP status.
	Status int
	// Canonical is the name that Google's APIs have for the error, such as RESOURCE_EXHAUSTED, at most 64
	// bytes. It is empty where the answer has none, as that of a front end.
	Canonical string
	// Message is what Gemini said, at most 512 bytes, without the API key.
	Message string
	// RetryAfter is how long Gemini asks to wait, at most a day; zero where it does not say.
	RetryAfter time.Duration
	// InvalidKey says that the API key is wrong or expired. Gemini answers 400 then, not 401.
	InvalidKey bool
}

func (e *Error) Error() string {
	return fmt.Sprintf("fetching %s: HTTP status %d: %s", diag.QuoteUpTo(e.Resource, maxQuoted), e.Status, e.Message)
}

// Refused reports whether Gemini refuses the request, so that the same again would be refused, too. A
// status that asks to come again later is none of these.
func (e *Error) Refused() bool {
	again := []int{http.StatusRequestTimeout, http.StatusTooManyRequests, 499}
	return e.Status >= 400 && e.Status < 500 && !slices.Contains(again, e.Status)
}

// HTTPStatus is the Status, for what records the status of a failure of any origin.
func (e *Error) HTTPStatus() int { return e.Status }

// refusal reads an answer that is not 200. Its status decides: the code in the body may be a number
// of HTTP's or of gRPC's, a word, or missing, and a front end answers in HTML.
func (c *Client) refusal(resource string, response *http.Response) *Error {
	// An error here takes nothing from what the status says.
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	var answer struct {
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
	e := &Error{
		Resource: resource, Status: response.StatusCode, Message: cmp.Or(c.message(string(text)), "an answer without a body"),
		RetryAfter: ParseRetryAfter(response.Header.Get("Retry-After"), c.now(), maxRetryAfter),
	}
	readable := json.Unmarshal(text, &answer) == nil
	if said := answer.Error; readable && (said.Message != "" || said.Status != "" || said.Code != nil) {
		e.Canonical = c.Redact(said.Status, maxCanonical)
		e.Message = c.message(fmt.Sprintf("%s (code %v, status %q)", said.Message, said.Code, said.Status))
	}
	for _, detail := range answer.Error.Details { // also of a body that is odd elsewhere
		e.InvalidKey = e.InvalidKey || detail.Reason == "API_KEY_INVALID"
		if delay, err := time.ParseDuration(detail.RetryDelay); err == nil {
			e.RetryAfter = min(max(e.RetryAfter, delay), maxRetryAfter)
		}
	}
	return e
}

// message makes one line of what a server said, fit for an error.
func (c *Client) message(text string) string {
	line := strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, c.Redact(text, maxMessage))
	return strings.Join(strings.Fields(line), " ")
}
