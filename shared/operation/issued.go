package operation

import "github.com/opledger/opledger/shared/diag"

// The forms of the ids that Gemini issues. They are undocumented and taken from real names. Too
// wide is safer than too narrow: an id that wrongly counts as issued costs one look-up. One that
// wrongly does not lets an event settle another operation.
var (
	batchID       = diag.Pattern(`^[a-z0-9]+$`) // 36 of them
	interactionID = diag.Pattern(`^v1_[A-Za-z0-9_-]+$`)
	operationID   = diag.Pattern(`^[a-z0-9]+$`) // the last segment of models/…/operations/9p5ug42emn2z
	numericID     = diag.Pattern(`^[0-9]+$`)
)

// Issued reports whether the key's id has the form that Gemini gives ids of its collection. Such a
// key names one operation and is never another form of a second one's name [K6]. A key without a
// collection is never issued.
func (k Key) Issued() bool {
	switch k.Collection() {
	case Batches:
		return len(k.ID()) == 36 && batchID().MatchString(k.ID())
	case Interactions:
		return interactionID().MatchString(k.ID())
	case Operations:
		return operationID().MatchString(k.ID())
	case BatchJobs, BatchPredictionJobs:
		return numericID().MatchString(k.ID())
	default:
		return false
	}
}
