package batches

import (
	"errors"
	"net/http"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini/api"
)

// A Cause says why a batch was not created, and so what must change before another creation.
type Cause string

const (
	// Ambiguous: the batch may run. No other may be created before that is known.
	Ambiguous Cause = "ambiguous"
	// RateLimited: too many batches, tokens or requests, which passes by itself. api.Error.RetryAfter may
	// say when.
	RateLimited Cause = "rate-limited"
	// Unsent: no connection could be made, or the context had ended. The same creation may succeed later.
	Unsent Cause = "unsent"
	// Denied: the key, its permissions, the project's billing or its region. An operator must act; every
	// other batch of the key would be refused, too.
	Denied Cause = "denied"
	// FileGone: Gemini has no such file, or no more. Upload it again.
	FileGone Cause = "file-gone"
	// Invalid: the requests, or what is said of the batch. A model that Gemini does not have, for batches
	// or at all, is this, too: then every batch of the same model is refused with the same words.
	Invalid Cause = "invalid"
)

// What the messages of refusals say of a key, a project or a file, where neither the status nor the
// canonical name does. A 400 without API_KEY_INVALID was seen to be about the key all the same.
var (
	aboutProject = diag.Pattern(`(?i)\bapi[ _]key\b|\bbilling\b|\b(location|region|country) is not supported\b|` +
		`\bnot (available|supported) in your (location|region|country)\b`)
	aboutFile = diag.Pattern(`(?i)\bfile\b`)
)

// AboutProject reports whether the message of a refusal is about the key, or the project's billing or region, and
// not about the requests.
func AboutProject(message string) bool { return aboutProject().MatchString(message) }

// AboutStorage reports whether the message of a refusal is about the files that Gemini stores for the project, 20 GB at
// most: it names the metric (seen live, python-genai 1172).
func AboutStorage(message string) bool { return strings.Contains(message, "file_storage_bytes") }

// CauseOf says why Create failed. An error that does not wrap ErrRefused is Ambiguous, whatever it says.
func CauseOf(err error) Cause {
	if !errors.Is(err, ErrRefused) {
		return Ambiguous
	}
	answer, answered := errors.AsType[*api.Error](err)
	if !answered {
		if errors.Is(err, errRequest) {
			return Invalid
		}
		return Unsent
	}
	missing := answer.Status == http.StatusForbidden || answer.Status == http.StatusNotFound
	switch {
	case answer.Status == http.StatusTooManyRequests || answer.Canonical == "RESOURCE_EXHAUSTED":
		return RateLimited
	case answer.InvalidKey || answer.Status == http.StatusUnauthorized:
		return Denied
	case missing && aboutFile().MatchString(answer.Message): // Gemini's answer for a file that is gone is a 403
		return FileGone
	case answer.Status == http.StatusForbidden, answer.Status == http.StatusPaymentRequired:
		return Denied
	case answer.Canonical == "FAILED_PRECONDITION" || AboutProject(answer.Message):
		// A failed precondition is by Google's definition not the request's fault.
		return Denied
	default:
		return Invalid
	}
}
