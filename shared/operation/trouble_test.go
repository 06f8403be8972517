package operation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/operation"
)

// What Gemini has said ends the trouble and nothing else; what a person decided stays [R4].
func TestWithoutTrouble(t *testing.T) {
	t.Parallel()
	want := complete()
	want.Trouble, want.TroubleSince, want.MissingSince, want.MissingAlertedAt = "", time.Time{}, time.Time{}, time.Time{}
	got := complete().WithoutTrouble()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !complete().InTrouble() || got.InTrouble() {
		t.Errorf("in trouble: %v before, %v after", complete().InTrouble(), got.InTrouble())
	}
	applied := operation.Apply(complete(), event(operation.Failed, late.Add(time.Hour)), now)
	if applied.InTrouble() || applied.Abandoned == nil {
		t.Errorf("an applied event left %+v", applied)
	}
}
