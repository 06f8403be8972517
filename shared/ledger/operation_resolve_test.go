package ledger

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// TestSameEnds: a conflict is another one if either end is, or if the later was reported again.
func TestSameEnds(t *testing.T) {
	t.Parallel()
	seen := operation.Record{
		State: operation.Succeeded, ConflictState: operation.Failed, ConflictAt: time.Unix(1, 0), Version: 1,
	}
	for what, change := range map[string]func(*operation.Record){
		"":                 func(r *operation.Record) { r.Version++ },
		"another state":    func(r *operation.Record) { r.State = operation.Cancelled },
		"another conflict": func(r *operation.Record) { r.ConflictState = operation.Cancelled },
		"reported again":   func(r *operation.Record) { r.ConflictAt = time.Unix(2, 0) },
	} {
		now := seen
		if change(&now); sameEnds(now, seen) != (what == "") {
			t.Errorf("%q: the same %v", what, sameEnds(now, seen))
		}
	}
}
