package results

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/storage"
)

// refused returns the error of the attempt for an error of Cloud Storage. The error of a client that
// could not be made, or got no answer, is as it is.
func (w *objectWriter) refused(err error) error {
	answer, ok := errors.AsType[*storage.AnswerError](err)
	if !ok {
		return err
	}
	if answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden {
		err = fmt.Errorf("%w; the service account that runs effects needs roles/storage.objectCreator and "+
			"roles/storage.legacyObjectReader on the bucket", err)
	}
	err = effect.Answered(err, answer.Status)
	if answer.Temporary() {
		return effect.RetryAfter(err, api.ParseRetryAfter(answer.RetryAfter, w.Now(), effect.MaxRetryAfter))
	}
	return effect.Permanent(err)
}
