package results

import (
	"errors"

	"github.com/opledger/opledger/shared/gemini/api"
)

// The errors that no repetition mends. Any other may pass.
var (
	// ErrLost: Gemini had the results and has them no more, or not for this API key's project.
	ErrLost = errors.New("results lost: Gemini no longer has them")
	// ErrNone: the operation has ended and holds no results.
	ErrNone = errors.New("the operation holds no results")
	// ErrTooLarge: an item in the middle of inline results is larger than MaxItemBytes, and what is
	// behind it cannot be reached.
	ErrTooLarge = api.ErrTooLarge
)

// maxQuoted bounds, in bytes, what an error repeats of a name.
const maxQuoted = 120

// statusOf returns the HTTP status that err is about, or 0.
func statusOf(err error) int {
	var refused *api.Error
	if errors.As(err, &refused) {
		return refused.Status
	}
	return 0
}
