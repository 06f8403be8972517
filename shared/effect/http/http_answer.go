package http

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// refusals are the statuses below 500, beside 3xx, that are about the request itself. It is the
// same at every attempt.
var refusals = []int{
	http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusGone,
	http.StatusLengthRequired, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
	http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
	http.StatusRequestHeaderFieldsTooLarge,
}

// permanent reports whether a status that is no success is a permanent refusal. also are the
// statuses that the spec adds.
func permanent(status int, also []int) bool {
	return status/100 == 3 || status == http.StatusNotImplemented || slices.Contains(refusals, status) ||
		slices.Contains(also, status)
}

const (
	// maxAnswerBytes is how much of an answer's body is read.
	maxAnswerBytes = 8 << 10
	// maxQuotedBytes is how much of it an error quotes.
	maxQuotedBytes = 300
)

// statusText returns a status with its standard text. The text in the answer may be anything.
func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprint(status, " ", http.StatusText(status)))
}
