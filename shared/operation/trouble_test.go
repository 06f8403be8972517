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
	want.Condition, want.ConditionSince, want.MissingSince, want.MissingAlertedAt = "", time.Time{}, time.Time{}, time.Time{}
	got := complete().WithoutCondition()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !complete().HasCondition() || got.HasCondition() {
		t.Errorf("in trouble: %v before, %v after", complete().HasCondition(), got.HasCondition())
	}
	applied := operation.Apply(complete(), event(operation.Failed, late.Add(time.Hour)), now)
	if applied.HasCondition() || applied.Abandoned == nil {
		t.Errorf("an applied event left %+v", applied)
	}
}
