package effect

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// refusals are the answers below 500, beside 3xx, that are about the request itself, which is the
// same at every attempt.
var refusals = []int{
	http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusGone, http.StatusLengthRequired,
	http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusUnsupportedMediaType,
	http.StatusUnprocessableEntity, http.StatusRequestHeaderFieldsTooLarge,
}

// permanent reports whether an answer that is no success is a no for good; also are the statuses
// that the spec adds.
func permanent(status int, also []int) bool {
	return status/100 == 3 || status == http.StatusNotImplemented || slices.Contains(refusals, status) || slices.Contains(also, status)
}

const (
	// maxAnswerBytes is how much is read of an answer's body.
	maxAnswerBytes = 8 << 10
	// maxSaidBytes is how much of it an error quotes.
	maxSaidBytes = 300
)

// statusText returns a status with the words that belong to it, not with those of the answer, which
// may be any.
func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprint(status, " ", http.StatusText(status)))
}

// maxRetryAfter keeps a receiver's mistake from putting an effect off for ever.
const maxRetryAfter = time.Hour
