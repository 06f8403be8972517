package job_test

import (
	"fmt"
	"testing"

	"github.com/opledger/opledger/shared/job"
)

// TestWithFailures: of each outcome the first examples are kept, so that one which is frequent hides no other.
func TestWithFailures(t *testing.T) {
	var kept, before []job.Failure
	for i := range 10 {
		kept = job.WithFailures(kept, job.Failure{Key: fmt.Sprint(i), Outcome: job.OutcomeFailed})
	}
	before = kept
	refused := job.Failure{Key: "x", Outcome: job.OutcomeRefused}
	kept = job.WithFailures(kept, refused, job.Failure{Outcome: job.OutcomeFailed})
	if len(before) != job.MostFailures || before[4].Key != "4" || len(kept) != job.MostFailures+1 ||
		kept[job.MostFailures] != refused {
		t.Errorf("%+v, then %+v", before, kept)
	}
}
