package ledger

import (
	"reflect"
	"testing"
)

// TestReading: what a Reading gives access to cannot write, and nothing else of its ledger can be
// reached from outside the package.
func TestReading(t *testing.T) {
	t.Parallel()
	all := reflect.TypeFor[Reading]()
	for _, writes := range []string{
		"Abandon", "WaiveEffect", "Claim", "Forget", "Ingest", "Intend", "MakeDueNow", "MarkRetried", "NoteCondition",
		"Quarantine", "Recover", "Register", "Replay", "Requeue", "Withdraw",
	} {
		if _, ok := reflect.TypeFor[*Ledger]().MethodByName(writes); !ok {
			t.Errorf("a ledger has no %s any more", writes)
		}
		if _, ok := all.MethodByName(writes); ok {
			t.Errorf("a reading has %s", writes)
		}
	}
	for i := range all.NumField() {
		if field := all.Field(i); field.IsExported() {
			t.Errorf("the field %s leads to the ledger", field.Name)
		}
	}
}
