package phrase

import (
	"fmt"
	"maps"
	"slices"

	"github.com/opledger/opledger/shared/operation"
)

// Conflict says which other state an event named last, when and by which path, or who has resolved
// it, and what was decided about others before; empty where no event named one.
func Conflict(r operation.Record) string {
	var words string
	resolution, resolved := r.Resolution(r.ConflictState)
	switch {
	case resolved:
		words = fmt.Sprintf("%s was reported by %s, and not applied: %s stands; resolved %s", Safe(string(r.ConflictState)),
			Safe(string(r.ConflictBy)), r.State, Abandoned(&resolution.Decided))
	case r.Conflicted():
		words = fmt.Sprintf("%s was reported by %s on %s, and not applied: %s stands", Safe(string(r.ConflictState)),
			Safe(string(r.ConflictBy)), LocalTime(r.ConflictAt), r.State)
	default:
		return ""
	}
	for _, end := range slices.Sorted(maps.Keys(r.ConflictResolved)) {
		if before, counts := r.Resolution(operation.State(end)); counts && operation.State(end) != r.ConflictState {
			words += fmt.Sprintf("; %s was resolved %s", Safe(end), Abandoned(&before.Decided))
		}
	}
	return words
}
