package ledger

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// TestFilters: what an index finds by itself, and where dead effects without a record are found, too.
func TestFilters(t *testing.T) {
	t.Parallel()
	states, since := []operation.State{operation.Failed}, time.Unix(1, 0)
	for _, test := range []struct {
		filter                         Filter
		valid, counted, exact, orphans bool
	}{
		{Filter{}, true, true, false, false},
		{Filter{JobKind: "a"}, true, true, true, false},
		{Filter{JobKind: "a*"}, true, false, false, false},
		{Filter{JobKind: "a", States: states}, true, false, false, false},
		{Filter{JobKind: "a", Collection: "batches"}, true, false, false, false},
		{Filter{JobKind: "a", Pending: true}, true, false, false, false},
		{Filter{JobKind: "a", Dead: true}, true, false, false, false},
		{Filter{JobKind: "a", Conflict: true}, true, false, false, false},
		{Filter{States: states}, true, true, false, false},
		{Filter{Collection: "batches"}, true, true, false, false},
		{Filter{Conflict: true}, true, true, false, false},
		{Filter{Conflict: true, States: states}, true, false, false, false},
		{Filter{Conflict: true, Collection: "batches"}, true, false, false, false},
		{Filter{Pending: true}, true, true, false, false},
		{Filter{Since: since}, true, true, false, false},
		{Filter{Pending: true, Since: since}, true, false, false, false},
		{Filter{Dead: true}, true, true, false, true},
		{Filter{Dead: true, States: states}, true, true, false, false},
		{Filter{Dead: true, Collection: "batches"}, true, true, false, false},
		{Filter{Pending: true, Dead: true}, false, true, false, true},
		{Filter{Pending: true, Conflict: true}, false, true, false, false},
		{Filter{Dead: true, Conflict: true}, false, true, false, true},
	} {
		f := test.filter
		_, exact := f.exactKind()
		if (f.validate() == nil) != test.valid || f.Counted() != test.counted || exact != test.exact ||
			f.onlyDead() != test.orphans {
			t.Errorf("%+v: valid %v, counted %v, an exact kind %v, with dead effects alone %v", f, f.validate(),
				f.Counted(), exact, f.onlyDead())
		}
	}
}

// TestFilterMatches: what the index cannot find is chosen from what it does.
func TestFilterMatches(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	pending := operation.Record{
		State: operation.Running, CreatedAt: at, Collection: "batches", Submission: operation.Submission{JobKind: "a-b"},
	}
	conflict := pending
	conflict.State, conflict.ConflictState, conflict.ConflictAt = operation.Succeeded, operation.Failed, at
	for _, test := range []struct {
		filter Filter
		rec    operation.Record
		want   bool
	}{
		{Filter{}, pending, true},
		{Filter{JobKind: "a-*"}, pending, true},
		{Filter{JobKind: "b-*"}, pending, false},
		{Filter{Pending: true, Since: at}, pending, true},
		{Filter{Pending: true, Since: at.Add(1)}, pending, false},
		{Filter{Since: at.Add(1)}, pending, true}, // the index has chosen
		{Filter{States: []operation.State{operation.Failed}}, pending, true},
		{Filter{Collection: "videos"}, pending, true},
		{Filter{Conflict: true}, pending, false},
		{Filter{Conflict: true}, conflict, true},
		{Filter{Conflict: true, States: []operation.State{operation.Failed}}, conflict, false},
		{Filter{Conflict: true, States: []operation.State{operation.Succeeded}}, conflict, true},
		{Filter{Conflict: true, Collection: "videos"}, conflict, false},
		{Filter{Conflict: true, Collection: "batches"}, conflict, true},
	} {
		if got := test.filter.matches(test.rec); got != test.want {
			t.Errorf("%+v of %+v: %v, want %v", test.filter, test.rec, got, test.want)
		}
	}
}
