package operation

import (
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/diag"
)

// Path returns the path at which the API has the operation: its key, or for a video the name as Gemini
// gave it, with the model in front, because the API does not accept that key alone [K5]. Only the
// collection is written as the API writes it.
//
// The error wraps ErrName. It is for a name that a URL would change: a name comes from outside, and must
// not turn a request into another one with a query, a dot segment or a verb after a colon.
func (n Name) Path() (string, error) {
	path := string(n.Key)
	if n.Key.Collection() == Operations {
		segments := strings.FieldsFunc(n.Resource, func(r rune) bool { return r == '/' })
		path = strings.Join(append(segments[:max(len(segments)-2, 0)], path), "/")
	}
	odd := func(r rune) bool { return !strings.ContainsRune(lower+upper+digits+"-._~=", r) }
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." || strings.ContainsFunc(segment, odd) {
			return "", fmt.Errorf("%w: %s cannot be part of a request; use the name that Gemini gave, "+
				"of letters, digits and -._~=", ErrName, diag.QuoteUpTo(segment, maxQuoted))
		}
	}
	return path, nil
}

// maxQuoted bounds, in bytes, what an error repeats of a name.
const maxQuoted = 120
