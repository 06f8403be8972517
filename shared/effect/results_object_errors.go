package effect

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"google.golang.org/api/googleapi"

	"github.com/opledger/opledger/shared/retryafter"
)

// passing are the answers below 500 that may be others at the next attempt. 400 is among them because Cloud Storage says so, too,
// of content that does not fit its checksum; 410 is an upload session that ended.
var passing = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusRequestTimeout,
	http.StatusConflict, http.StatusGone, http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable,
	http.StatusTooManyRequests,
}

// refused says what an error of Cloud Storage means for the effect. Whoever knows the URL of an upload may go on with it, and
// whoever knows a request's token may do much: neither is in it.
func (w *objectWriter) refused(doing string, err error) error {
	doing += " " + w.to.url(w.name)
	var answer *googleapi.Error
	if !errors.As(err, &answer) {
		return fmt.Errorf("%s: %w", doing, w.sent.Redactor().Error(withoutURL(err)))
	}
	said, hint := answer.Message, ""
	if said == "" {
		said = answer.Body
	}
	switch answer.Code {
	case http.StatusNotFound:
		hint = "; is there such a bucket?"
	case http.StatusUnauthorized, http.StatusForbidden:
		hint = "; whoever runs effects needs roles/storage.objectCreator and roles/storage.legacyObjectReader on the bucket"
	}
	const maxSaid = 300
	err = fmt.Errorf("%s: Cloud Storage answered %d: %s%s", doing, answer.Code, w.sent.Redactor().Quote(said, maxSaid), hint)
	if answer.Code >= http.StatusInternalServerError || slices.Contains(passing, answer.Code) {
		return RetryAfter(err, retryafter.Parse(answer.Header.Get("Retry-After"), w.Now(), maxRetryAfter))
	}
	return Permanent(err)
}

// statusOf returns the HTTP status that an error of Cloud Storage is about, or 0.
func statusOf(err error) int {
	var answer *googleapi.Error
	if errors.As(err, &answer) {
		return answer.Code
	}
	return 0
}
