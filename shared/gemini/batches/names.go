package batches

import (
	"errors"
	"fmt"

	"github.com/opledger/opledger/shared/diag"
)

const (
	// maxQuoted bounds, in bytes, what an error repeats of a name or an answer.
	maxQuoted = 120
	// maxProblem bounds, in bytes, an error about an answer.
	maxProblem = 512
)

// errRequest is wrapped by what is wrong with a request before it is sent.
var errRequest = errors.New("the request cannot be sent")

// A name is part of an address, and must not turn a request into another one with a query, a dot segment
// or a verb behind a colon.
var (
	fileName  = diag.Pattern(`^files/[\w~=-][\w.~=-]*$`)
	modelName = diag.Pattern(`^(models|tunedModels)/[\w~=-][\w.~=-]*$`)
)

// checkFile returns nil for the name of a file. The error wraps errRequest.
func checkFile(name string) error {
	if fileName().MatchString(name) {
		return nil
	}
	return fmt.Errorf("%w: %s is not a file at Gemini, as files/…", errRequest, diag.QuoteUpTo(name, maxQuoted))
}
