package ledger

import (
	"reflect"
	"testing"
)

// TestReading: what a Reading gives access to cannot write, and nothing else of its ledger can be
// reached from outside the package.
func TestReading(t *testing.T) {
	t.Parallel()
	reading, ledger := reflect.TypeFor[Reading](), reflect.TypeFor[Ledger]()
	for noun, writes := range map[string][]string{
		"Operations": {"Abandon", "Forget", "Ingest", "MakeDueNow", "RecordCondition", "Register", "ResolveConflict"},
		"Effects":    {"Claim", "Recover", "Replay", "Requeue", "Waive"},
		"Items":      {"Record", "UpdateProgress"},
		"Intents":    {"Abandon", "Forget", "Intend", "Withdraw"},
		"Passes":     {"AddRefusals", "Begin", "ClaimLookUp", "RepairDueTimes", "StorePause"},
		"Quarantine": {"Add", "MarkRetried", "Resolve"},
	} {
		whole, ok := ledger.FieldByName(noun)
		half, also := reading.FieldByName(noun)
		if !ok || !also {
			t.Fatalf("a ledger or a reading has no %s", noun)
		}
		for _, method := range writes {
			if _, ok := whole.Type.MethodByName(method); !ok {
				t.Errorf("%s have no %s any more", noun, method)
			}
			if _, ok := half.Type.MethodByName(method); ok {
				t.Errorf("a reading's %s have %s", noun, method)
			}
		}
	}
	for _, read := range reflect.VisibleFields(reading) {
		for i := range read.Type.NumField() {
			if field := read.Type.Field(i); field.IsExported() {
				t.Errorf("the field %s of %s leads to the ledger", field.Name, read.Name)
			}
		}
	}
}
