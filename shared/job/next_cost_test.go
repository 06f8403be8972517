package job_test

import (
	"testing"

	"github.com/opledger/opledger/shared/job"
)

// costing is a job of parts of 10 requests, each of 400 bytes: 100 tokens. Of such a part $0.11 is reserved: 1,000
// tokens of input, and 10,000 of output that are assumed.
func costing(limit float64, states ...job.State) (job.Job, []job.Part) {
	j := job.Job{
		Key: "jobs/nightly", Phase: job.Running, Options: job.Options{MaxCost: limit}.WithDefaults(), Parts: len(states),
		Round: 1, Input: job.Input{Requests: 1000}, Price: &job.Price{Input: 10, Output: 10},
	}
	var parts []job.Part
	for i, state := range states {
		parts = append(parts, job.Part{
			Number: i + 1, Round: 1, State: state, Requests: 10, Bytes: 4000, WaitingSince: midnight,
		})
	}
	return j, parts
}

// TestNextCosts: a part is started while what is spent, what is reserved and its own estimate are within the limit; the
// job is held where it is not and nothing runs [J10].
func TestNextCosts(t *testing.T) {
	for _, test := range []struct {
		limit float64
		other job.State // of the part before it
		start int
		held  bool
	}{
		{0, job.Started, 1, false},
		{0.22, job.Started, 1, false}, {0.21, job.Started, 0, false}, {0.21, job.Starting, 0, false},
		{0.11, job.Consumed, 1, false}, {0.10, job.Consumed, 0, true}, {0.10, job.Dropped, 0, true},
		{0.22, job.Planned, 2, false}, {0.21, job.Planned, 1, false},
	} {
		j, open := costing(test.limit, test.other, job.Planned)
		step := job.Next(midnight, j, open, false, room(10))
		held := step.Job.Hold != nil && step.Job.Hold.Reason == job.HeldByCost
		if len(step.Start) != test.start || held != test.held || held != step.Held || step.Wants.For != "" {
			t.Errorf("%+v: %d started, hold %+v", test, len(step.Start), step.Job.Hold)
		}
	}
}

// TestNextCostsAsCounted: once tokens were counted an estimate is what they cost per request, and what one step does
// not consume counts all the same.
func TestNextCostsAsCounted(t *testing.T) {
	states := make([]job.State, 102)
	for i := range states {
		states[i] = job.Collected
	}
	states[101] = job.Planned
	for limit, want := range map[float64]int{102: 1, 101.9: 0} { // each of them costs a dollar
		j, open := costing(limit, states...)
		for i := range 101 {
			open[i].Usage = job.Usage{Output: 60_000, Thinking: 40_000}
		}
		if step := job.Next(midnight, j, open, false, room(10)); len(step.Start) != want || step.Job.Sent != 1000 {
			t.Errorf("limit %v: %d started, %+v", limit, len(step.Start), step.Job)
		}
	}
	j, open := costing(1.5, job.Started, job.Planned) // more is counted of the one that runs than was reserved
	open[0].Usage = job.Usage{Output: 140_000}
	if step := job.Next(midnight, j, open, false, room(10)); len(step.Start) != 0 {
		t.Errorf("%+v", step)
	}
}

// TestNextCostsRaised: a job that is held for its cost goes on by itself once it may cost more, and until then the same
// hold stands.
func TestNextCostsRaised(t *testing.T) {
	j, open := costing(0.1, job.Planned)
	held := job.Next(midnight, j, open, false, room(10)).Job
	if held.Hold == nil || held.Hold.Why !=
		"about $0.00 were spent, the next batch would cost about $0.11, and --max-cost allows $0.10" {
		t.Fatalf("%+v", held.Hold)
	}
	held.Hold.Alerted = true
	_, open = costing(0.1, job.Planned)
	if step := job.Next(midnight, held, open, false, room(10)); step.Changed() || !step.Job.Hold.Alerted {
		t.Errorf("once more: %+v", step)
	}
	held.Options.MaxCost = 1
	_, open = costing(1, job.Planned)
	if step := job.Next(midnight, held, open, false, room(10)); step.Job.Hold != nil || len(step.Start) != 1 {
		t.Errorf("raised: %+v", step)
	}
	held.Price = nil
	_, open = costing(1, job.Planned)
	if step := job.Next(midnight, held, open, false, room(10)); step.Job.Hold == nil || len(step.Start) != 0 {
		t.Errorf("without a price: %+v", step)
	}
}

// TestNextCostsByTokens: before the first batch is counted, its input counts as its submitter has estimated it.
func TestNextCostsByTokens(t *testing.T) {
	for limit, held := range map[float64]bool{0.13: true, 0.14: false} {
		j, open := costing(limit, job.Planned)
		j.Input.Bytes, j.Input.Tokens = 8000, 8000 // a token for a byte, so that its 4,000 bytes have 4,000
		if step := job.Next(midnight, j, open, false, room(10)); (step.Job.Hold != nil) != held {
			t.Errorf("within $%.2f: %+v", limit, step.Job.Hold)
		}
	}
}
