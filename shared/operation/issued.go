package operation

import "strings"

const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// Issued reports whether the key's id has the form that Gemini gives ids of its collection. Such a
// key names one operation and is never another form of a second one's name [K6]. A key without a
// collection is never issued.
//
// The forms are undocumented and taken from real names. Too wide is safer than too narrow: an id
// that wrongly counts as issued costs one look-up. One that wrongly does not lets an event settle
// another operation.
func (k Key) Issued() bool {
	id := k.ID()
	switch k.Collection() {
	case Batches:
		return len(id) == 36 && consists(id, lower+digits)
	case Interactions:
		rest, versioned := strings.CutPrefix(id, "v1_")
		return versioned && consists(rest, lower+upper+digits+"_-")
	case Operations: // the last segment of models/…/operations/9p5ug42emn2z
		return consists(id, lower+digits)
	case BatchJobs, BatchPredictionJobs:
		return consists(id, digits)
	default:
		return false
	}
}

// consists reports whether a text is of these characters, at least one.
func consists(text, of string) bool { return text != "" && strings.Trim(text, of) == "" }
