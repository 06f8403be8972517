package job_test

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// piloting is a job of 50 requests whose pilot of 20 is collected: so many are done. Behind it is the rest, a part.
func piloting(done int64) (job.Job, []job.Part) {
	j := job.Job{
		Key: "jobs/nightly", Phase: job.Running, Options: job.Options{Pilot: 20}.WithDefaults(), Parts: 2, Round: 1,
		Input: job.Input{Requests: 50}, Pilot: 20, CreatedAt: midnight,
	}
	j.Options.MaxAttempts = 2
	return j, []job.Part{
		{
			Key: "jobs/nightly/00001", Number: 1, Round: 1, State: job.Collected, WaitingSince: midnight,
			Results: job.Results{Counts: job.Counts{Done: done, Invalid: 20 - done}, Failures: []job.Failure{{Key: "k7"}}},
		},
		{Key: "jobs/nightly/00002", Number: 2, Round: 1, State: job.Planned, WaitingSince: midnight},
	}
}

// TestNextPilotDecides: the rest is started with as many failures as are allowed, and with more the job is held,
// once [J13].
func TestNextPilotDecides(t *testing.T) {
	j, open := piloting(19)
	if step := job.Next(midnight, j, open, false, room(5)); len(step.Start) != 1 || step.Job.Hold != nil ||
		step.Job.Pilot != 0 {
		t.Errorf("with 5 %%: %+v", step)
	}
	j, open = piloting(18)
	step := job.Next(midnight, j, open, false, room(5))
	hold := step.Job.Hold
	if len(step.Start) > 0 || step.Wants.For != "" || hold == nil || hold.Reason != job.HeldByPilot ||
		!step.Job.AlertsHold() ||
		hold.Why != "2 of the pilot's 20 requests were not done, and --pilot-failures allows 5%" ||
		len(step.Job.Failures) != 1 {
		t.Fatalf("with 10 %%: %+v", step)
	}
	cancelled := step.Job
	if cancelled.Cancelled = (&operation.Decided{}); cancelled.AlertsHold() {
		t.Error("an alert is due although it is cancelled")
	}
	step.Job.Hold = nil // resumed
	if step = job.Next(midnight, step.Job, open[1:], false, room(5)); len(step.Start) != 1 || step.Job.Hold != nil {
		t.Errorf("resumed: %+v", step)
	}
	j, open = piloting(18)
	if step = job.Next(midnight, j, open[:1], false, room(5)); step.Job.Hold != nil || !step.Finish {
		t.Errorf("nothing is left to start: %+v", step)
	}
	j, open = piloting(18)
	j.Cancelled = &operation.Decided{}
	if step = job.Next(midnight, j, open, false, room(5)); step.Job.Hold != nil || step.Parts[1].State != job.Dropped {
		t.Errorf("cancelled: %+v", step)
	}
}

// TestNextPilotDecidesLater: what an operator has paused is not resumed into a pilot that failed [J13], and where no
// part changes the decision is stored all the same.
func TestNextPilotDecidesLater(t *testing.T) {
	j, open := piloting(18)
	j.Hold = &job.Hold{Reason: job.HeldByOperator}
	step := job.Next(midnight, j, open, false, room(5))
	if step.Job.Hold.Reason != job.HeldByOperator || step.Job.Pilot != 20 || step.Job.AlertsHold() {
		t.Fatalf("paused: %+v", step)
	}
	step.Job.Hold = nil
	if step = job.Next(midnight, step.Job, open[1:], false, room(5)); !step.Changed() || step.Job.Hold == nil {
		t.Errorf("resumed: %+v", step)
	}
}

// TestNextPilotRetries: what the pilot sends again is sent at once, although the rest is open, and is before the rest
// among the open parts [J13].
func TestNextPilotRetries(t *testing.T) {
	j, open := piloting(18)
	open[0].Counts, open[0].Again = job.Counts{Done: 18}, []job.Source{{Object: "again", Length: 2, Requests: 2}}
	later := midnight.Add(time.Minute)
	step := job.Next(later, j, open, true, room(5))
	if len(step.Start) != 1 || step.Start[0] != "jobs/nightly/00003" || step.Job.Pilot != 20 {
		t.Fatalf("%+v", step)
	}
	again := step.Parts[len(step.Parts)-1]
	if again.Round != 2 || !again.WaitingSince.Equal(j.CreatedAt) || !again.CreatedAt.Equal(later) {
		t.Errorf("%+v", again)
	}
	again.State, again.Counts = job.Collected, job.Counts{Done: 1, Failed: 1}
	step = job.Next(later, step.Job, []job.Part{again, open[1]}, true, room(5))
	if len(step.Start) != 1 || step.Job.Hold != nil {
		t.Errorf("one of 20 is not done: %+v", step)
	}
}

// TestNextPilotRefused: a pilot that Gemini refuses as a whole is cut no further than any batch is, and then holds the
// job: its pieces do not wait for what waits for them [J13].
func TestNextPilotRefused(t *testing.T) {
	w := newWorld(t, 1, 100, job.Options{MaxRequestsPerBatch: 20, Pilot: 20})
	for r := range w.job.Input.Requests {
		w.bad[r] = true
	}
	w.advance()
	for w.play() {
		w.advance()
	}
	if w.job.Hold == nil || w.job.Parts > 5+10 || w.job.Counts.Done > 0 || w.job.Refusal == "" {
		t.Errorf("%+v", w.job)
	}
}
