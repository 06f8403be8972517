package gemini

import (
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/diag"
)

// maxQuoted bounds, in bytes, what an error repeats of a text that somebody else chose.
const maxQuoted = 120

// An UnknownTypeError is for a body that is well-formed and whose type this revision does not know:
// a ping, an event that Gemini added later, a verb nobody documented. It is recorded and answered
// 200 [W6]; a later revision may be able to decode the same body.
type UnknownTypeError struct {
	// Type is the body's own word, whole; it is never empty.
	Type string
}

func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("decoding a webhook body: type %s is not known", diag.QuoteUpTo(e.Type, maxQuoted))
}

// A MalformedError is for a body that cannot be understood: not a JSON object, without a type, or
// without the name of an operation. It is quarantined whole and answered 200 [W6]; the same body
// will never decode in this revision.
type MalformedError struct {
	// Problem is what is wrong, as the end of a sentence. It repeats nothing of the body but at
	// most a name.
	Problem string
	// Fields lists the fields that were found where one is missing [K3], sorted, those in data as
	// "data.FIELD"; at most 40, each cut to 120 bytes. It is empty where the body could not be read
	// that far.
	Fields []string
	// Err is the cause: of encoding/json, or wrapping operation.ErrName; often nil.
	Err error
}

func (e *MalformedError) Error() string {
	var text strings.Builder
	text.WriteString("decoding a webhook body: " + e.Problem)
	if e.Err != nil {
		text.WriteString(": " + e.Err.Error())
	}
	if len(e.Fields) > 0 {
		text.WriteString("; found " + strings.Join(e.Fields, ", "))
	}
	return text.String()
}

// Unwrap returns the cause.
func (e *MalformedError) Unwrap() error { return e.Err }
