package operation_test

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// TestSubmitted: a submitter's clock that runs ahead postpones nothing [R1, R4].
func TestSubmitted(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]operation.Record{
		"R1: before": {SubmittedAt: early, CreatedAt: late},
		"R1: same":   {SubmittedAt: early, CreatedAt: early},
		"R1: ahead":  {SubmittedAt: late, CreatedAt: early},
	} {
		if got := r.Submitted(); !got.Equal(early) {
			t.Errorf("%s: %v, want %v", name, got, early)
		}
	}
}

// TestReportedUnfinished: Gemini has said that an operation had not ended if the state is more than a
// registration's, or came with a time. An end, and a state that nothing knows, do not say so [L3].
func TestReportedUnfinished(t *testing.T) {
	t.Parallel()
	for _, state := range worldStates() {
		for _, at := range []time.Time{missing, time.Unix(0, 0), early} {
			var want bool
			switch state {
			case operation.Pending: // as a registration has it, too
				want = at.Equal(early)
			case operation.Running, operation.RequiresAction:
				want = true
			}
			if got := record(state, at).ReportedUnfinished(); got != want {
				t.Errorf("L3: %q at %v: %v, want %v", state, at, got, want)
			}
		}
	}
}
