package job_test

import (
	"testing"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

func withNotDone(j job.Job, failed int64) job.Job {
	j.Counts.Failed = failed
	return j
}

func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		tolerance job.Tolerance
		failed    int64
		cancelled bool
		want      operation.State
	}{
		{"", 0, false, operation.Succeeded},
		{"", 1, false, operation.Failed},
		{"1", 1, false, operation.Succeeded},
		{"1%", 2, false, operation.Succeeded},
		{"1%", 3, false, operation.Failed},
		{"100%", 0, true, operation.Cancelled},
	} {
		j := job.Job{Options: job.Options{MaxFailures: test.tolerance}, Input: job.Input{Requests: 200}}
		if test.cancelled {
			j.Cancelled = &operation.Decided{}
		}
		if state, _ := withNotDone(j, test.failed).Verdict(); state != test.want {
			t.Errorf("%+v: %s", test, state)
		}
	}
}

// Where Gemini accepted no batch, its words are the job's; else the tolerance is.
func TestVerdictSaysWhy(t *testing.T) {
	for _, test := range []struct {
		job  job.Job
		want string
	}{
		{job.Job{Refusal: "no billing"}, "Gemini refused every batch: no billing"},
		{job.Job{Batches: 1, Refusal: "no billing"}, "3 of 60 requests were not done, and --max-failures allows 0"},
		{job.Job{Options: job.Options{MaxFailures: "2%"}}, "3 of 60 requests were not done, and --max-failures allows 2%"},
		{job.Job{Batches: 1, Stopped: "3 were not done"}, "the job was stopped: 3 were not done"},
		{job.Job{Invalid: "line 3 has no key"}, "the input is not valid: line 3 has no key"},
	} {
		test.job.Input.Requests = 60
		j := withNotDone(test.job, 3)
		if _, why := j.Verdict(); why != test.want {
			t.Errorf("%+v: %q", test, why)
		}
	}
}
