package gemini

import (
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/diag"
)

// maxQuoted bounds, in bytes, what an error repeats of a text that a sender chose.
const maxQuoted = 120

// An UnknownTypeError says that a body is well-formed, and that this revision does not know its
// type: a ping, an event that Gemini added later, or an undocumented verb. The delivery is recorded
// and answered 200 [W6]. A later revision may be able to decode the same body.
type UnknownTypeError struct {
	// Type is the type in the body, uncut. It is never empty.
	Type string
}

func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("decoding a webhook body: type %s is not known", diag.QuoteUpTo(e.Type, maxQuoted))
}

// A MalformedError says that a body cannot be decoded: it is no JSON object, or has no type, or
// names no operation. The body is quarantined and the delivery is answered 200 [W6]. This revision
// can never decode the same body.
type MalformedError struct {
	// Problem completes the sentence "decoding a webhook body: …". It repeats nothing of the body
	// except a name.
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
