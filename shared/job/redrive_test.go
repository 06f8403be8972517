package job_test

import (
	"errors"
	"testing"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// TestRedriveID: ID-2, and a higher number only for a redrive that has the number by itself.
func TestRedriveID(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, redrives, want string }{
		{"jobs/nightly", "", "nightly-2"}, {"jobs/nightly-2", "jobs/nightly", "nightly-3"},
		{"jobs/nightly-3", "jobs/nightly-2", "nightly-4"}, {"jobs/nightly-2026-11-23", "", "nightly-2026-11-23-2"},
		{"jobs/run-2", "", "run-2-2"}, {"jobs/run-3", "jobs/run", "run-3-2"}, {"jobs/again", "jobs/nightly", "again-2"},
		{"jobs/nightly-1", "jobs/nightly-0", "nightly-2"},
	} {
		got := job.Job{Key: operation.Key(c.key), Redrives: operation.Key(c.redrives)}.RedriveID()
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestRedriven: what failed can go into one job and what was refused into another, and nothing into two.
func TestRedriven(t *testing.T) {
	t.Parallel()
	j := job.Job{Phase: job.Ended, Counts: job.Counts{Done: 1, Failed: 1, Refused: 1}}
	redriven := func(key operation.Key, outcomes ...job.Outcome) error {
		return j.Redriven(job.Redrive{Job: key, Outcomes: outcomes})
	}
	for range 2 {
		if err := redriven("jobs/failed", job.OutcomeFailed, job.OutcomeTruncated); err != nil {
			t.Error(err)
		}
	}
	if err := redriven("jobs/refused", job.OutcomeRefused); err != nil {
		t.Error(err)
	}
	for _, outcomes := range [][]job.Outcome{job.NotDone(), {job.OutcomeTruncated}, {job.OutcomeInvalid}, nil} {
		if err := redriven("jobs/other", outcomes...); !errors.Is(err, job.ErrNoRedrive) {
			t.Errorf("%s: %v", outcomes, err)
		}
	}
	if len(j.RedrivenBy) != 2 {
		t.Errorf("%+v", j.RedrivenBy)
	}
	j.Phase = job.Finishing
	if err := redriven("jobs/refused", job.OutcomeRefused); !errors.Is(err, job.ErrNoRedrive) {
		t.Errorf("before the end: %v", err)
	}
}
