package phrase

import (
	"fmt"

	"github.com/opledger/opledger/shared/operation"
)

// Conflict says which other end an event named, when and by which path; empty where none did.
func Conflict(r operation.Record) string {
	if !r.Conflicted() {
		return ""
	}
	return fmt.Sprintf("%s was reported by %s on %s, and not applied: %s stands", Safe(string(r.ConflictState)),
		Safe(string(r.ConflictBy)), LocalTime(r.ConflictAt), r.State)
}
