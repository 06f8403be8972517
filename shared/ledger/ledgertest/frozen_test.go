package ledgertest

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestAnAddedFieldIsDeclared: a field that is not in what the first release stored must be named, with
// the reason why an older revision's writes do it no harm; inside of another field there can be none
// [L5].
func TestAnAddedFieldIsDeclared(t *testing.T) {
	t.Parallel()
	type inner struct{ Old, New string }
	type document struct {
		Old     string
		Nested  []inner
		AddedAt string
	}
	stored := document{Old: "x", Nested: []inner{{"y", "z"}}}
	added := func(why string) map[string]string { return map[string]string{"AddedAt": why} }
	for what, c := range map[string]struct {
		frozen Frozen
		want   string // in the error; empty: none
	}{
		"lasting":     {Frozen{Data: stored, Added: added("lasting: when it was first seen")}, ""},
		"stamped":     {Frozen{Data: stored, Added: added("stamped: with its version")}, ""},
		"derived":     {Frozen{Data: stored, Added: added("derived: from old")}, ""},
		"not named":   {Frozen{Data: stored}, "AddedAt is not set"},
		"no reason":   {Frozen{Data: stored, Added: added("it is useful")}, "must be lasting, stamped or derived"},
		"always been": {Frozen{Data: document{"x", stored.Nested, "a"}, Added: added("lasting: x")}, "was stored before"},
		"inside of another": {
			Frozen{Data: document{Old: "x", Nested: []inner{{Old: "y"}}}, Added: added("lasting: x")},
			"Nested[0].New is not set",
		},
	} {
		err := c.frozen.whole()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}

// TestAKindIsFrozen: the ledger stores no kind of document that has no golden file [L5].
func TestAKindIsFrozen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		data   any
		frozen bool
	}{
		{operation.Record{}, true}, {ledger.QuarantinedPart{}, true}, {nil, true}, {note{}, true}, {struct{}{}, true},
		{ledger.Cursor{}, false},
	} {
		if err := checkFrozen(ledger.Write{Data: c.data}); (err == nil) != c.frozen {
			t.Errorf("%T: %v", c.data, err)
		}
	}
}
