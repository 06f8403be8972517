package storage

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"google.golang.org/api/googleapi"

	"github.com/opledger/opledger/shared/diag"
)

// An AnswerError is an answer of Cloud Storage that refuses a request. Its text says what was attempted.
type AnswerError struct {
	Status     int
	RetryAfter string // the header of that name; empty for none

	text string
}

// Error implements error.
func (e *AnswerError) Error() string { return e.text }

// Temporary reports whether the next attempt may get another answer.
func (e *AnswerError) Temporary() bool {
	return e.Status >= http.StatusInternalServerError || slices.Contains(transient, e.Status)
}

// transient are the statuses below 500 that the next attempt may not get. 400 is one because Cloud
// Storage also answers it to content that does not match its checksum; 410 is an upload session
// that ended.
var transient = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusRequestTimeout,
	http.StatusConflict, http.StatusGone, http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable,
	http.StatusTooManyRequests,
}

// maxQuotedBytes is how much of an answer an error quotes.
const maxQuotedBytes = 300

// failed returns the error of a call for an error of the client: an AnswerError where Cloud Storage has
// answered. It holds neither the URL of an upload, which is enough to continue it, nor the token of a
// request.
func (s *sentRequest) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	answer, ok := errors.AsType[*googleapi.Error](err)
	if !ok {
		return fmt.Errorf("%s: %w", doing, s.Redactor().Error(diag.WithoutURL(err)))
	}
	hint := ""
	if answer.Code == http.StatusNotFound {
		hint = "; is there such a bucket?"
	}
	return &AnswerError{
		Status: answer.Code, RetryAfter: answer.Header.Get("Retry-After"),
		text: fmt.Sprintf("%s: Cloud Storage answered %d: %s%s", doing, answer.Code,
			s.Redactor().Quote(cmp.Or(answer.Message, answer.Body), maxQuotedBytes), hint),
	}
}

// StatusOf returns the HTTP status of an answer of Cloud Storage that is an error, or 0.
func StatusOf(err error) int {
	if answer, ok := errors.AsType[*googleapi.Error](err); ok {
		return answer.Code
	}
	if answer, ok := errors.AsType[*AnswerError](err); ok {
		return answer.Status
	}
	return 0
}

// crc32c reads a checksum in the form of Cloud Storage.
func crc32c(text string) (uint32, error) {
	sum, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(sum) != 4 {
		return 0, fmt.Errorf("the checksum %q is not base64 of four bytes", text)
	}
	return binary.BigEndian.Uint32(sum), nil
}
