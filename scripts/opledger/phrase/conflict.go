package phrase

import (
	"fmt"

	"github.com/opledger/opledger/shared/operation"
)

// Conflict says which other end an event named, when and by which path, or who has dealt with it;
// empty where none did.
func Conflict(r operation.Record) string {
	if r.Resolved() {
		return fmt.Sprintf("%s was reported by %s, and not applied: %s stands; resolved %s", Safe(string(r.ConflictState)),
			Safe(string(r.ConflictBy)), r.State, Abandoned(*r.ConflictResolved))
	}
	if !r.Conflicted() {
		return ""
	}
	return fmt.Sprintf("%s was reported by %s on %s, and not applied: %s stands", Safe(string(r.ConflictState)),
		Safe(string(r.ConflictBy)), LocalTime(r.ConflictAt), r.State)
}
