package results

import (
	"errors"

	"github.com/opledger/opledger/shared/gemini/api"
)

// The permanent errors, of which the first is to be believed only when Gemini says it again. Any other
// may be transient.
var (
	// ErrNotFound: Gemini says that it does not have the results, or not for the project of this API key.
	// What was there answered 404 for two days.
	ErrNotFound = errors.New("the results are not found: Gemini says that it does not have them")
	// ErrNone: the operation has ended and holds no results.
	ErrNone = errors.New("the operation holds no results")
	// ErrTooLarge: an item of inline results is larger than MaxItemBytes, and the items after it
	// cannot be reached.
	ErrTooLarge = api.ErrTooLarge
)

// maxQuoted bounds, in bytes, what an error repeats of a name.
const maxQuoted = 120

// statusOf returns the HTTP status that err is about, or 0.
func statusOf(err error) int {
	if refused, ok := errors.AsType[*api.Error](err); ok {
		return refused.Status
	}
	return 0
}
