package results

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"google.golang.org/api/googleapi"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/api"
)

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

// refused returns the error of the attempt for an error of Cloud Storage. It holds neither the URL
// of an upload, which is enough to continue it, nor the token of a request.
func (w *objectWriter) refused(doing string, err error) error {
	doing += " " + w.to.url(w.name)
	var answer *googleapi.Error
	if !errors.As(err, &answer) {
		return fmt.Errorf("%s: %w", doing, w.sent.Redactor().Error(diag.WithoutURL(err)))
	}
	message, hint := answer.Message, ""
	if message == "" {
		message = answer.Body
	}
	switch answer.Code {
	case http.StatusNotFound:
		hint = "; is there such a bucket?"
	case http.StatusUnauthorized, http.StatusForbidden:
		hint = "; the service account that runs effects needs roles/storage.objectCreator and " +
			"roles/storage.legacyObjectReader on the bucket"
	}
	err = effect.Answered(fmt.Errorf("%s: Cloud Storage answered %d: %s%s", doing, answer.Code,
		w.sent.Redactor().Quote(message, maxQuotedBytes), hint), answer.Code)
	if answer.Code >= http.StatusInternalServerError || slices.Contains(transient, answer.Code) {
		return effect.RetryAfter(err, api.ParseRetryAfter(answer.Header.Get("Retry-After"), w.Now(), effect.MaxRetryAfter))
	}
	return effect.Permanent(err)
}

// statusOf returns the HTTP status of an error of Cloud Storage, or 0.
func statusOf(err error) int {
	if answer, ok := errors.AsType[*googleapi.Error](err); ok {
		return answer.Code
	}
	return 0
}
