package results

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/opledger/opledger/shared/diag"
)

// The errors that no repetition mends. Any other may pass.
var (
	// ErrLost: Gemini had the results and has them no more, or not for this API key's project.
	ErrLost = errors.New("results lost: Gemini no longer has them")
	// ErrNone: the operation has ended and holds no results.
	ErrNone = errors.New("the operation holds no results")
	// ErrTooLarge: an item in the middle of inline results is larger than MaxItemBytes, and what is behind it cannot be reached.
	ErrTooLarge = errors.New("an item is too large")
)

// A StatusError is an answer of Gemini's other than 200 that is not ErrLost.
type StatusError struct {
	Resource string // what was asked for
	Status   int    // of HTTP
	Message  string // what Gemini said, shortened, without the API key
	// RetryAfter is the header of that name as it was sent, often empty.
	RetryAfter string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("fetching %s: HTTP status %d: %s", diag.QuoteUpTo(e.Resource, maxQuoted), e.Status, e.Message)
}

const (
	maxQuoted = 120
	maxSaid   = 300
)

// refusal reads an answer that is not 200.
func (c *Client) refusal(resource string, response *http.Response) *StatusError {
	// An error here takes nothing from what the status says.
	said, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	return &StatusError{
		Resource: resource, Status: response.StatusCode, Message: c.redactor.Quote(string(said), maxSaid),
		RetryAfter: response.Header.Get("Retry-After"),
	}
}

// statusOf returns the HTTP status that err is about, or 0.
func statusOf(err error) int {
	var refused *StatusError
	if errors.As(err, &refused) {
		return refused.Status
	}
	return 0
}
