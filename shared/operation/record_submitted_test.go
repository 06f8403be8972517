package operation_test

import (
	"testing"

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
