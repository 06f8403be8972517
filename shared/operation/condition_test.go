package operation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/operation"
)

// TestWithoutCondition: a conclusive report ends the condition and nothing else. What the operator
// decided stays [R4].
func TestWithoutCondition(t *testing.T) {
	t.Parallel()
	want := complete()
	want.Condition, want.ConditionSince, want.MissingSince, want.MissingAlertedAt = "", time.Time{}, time.Time{},
		time.Time{}
	got := complete().WithoutCondition()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !complete().HasCondition() || got.HasCondition() {
		t.Errorf("a condition: %v before, %v after", complete().HasCondition(), got.HasCondition())
	}
	for _, r := range []operation.Record{{Condition: "404"}, {MissingSince: early}} {
		if !r.HasCondition() {
			t.Errorf("%+v has no condition", r)
		}
	}
	applied := operation.Apply(complete(), event(operation.Failed, late.Add(time.Hour)), now)
	if applied.HasCondition() || applied.Abandoned == nil {
		t.Errorf("an applied event left %+v", applied)
	}
}
