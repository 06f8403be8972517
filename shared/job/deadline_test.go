package job_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// TestParseDeadline: a time of day is the next such time where the submitter is; a date or a duration is what it says.
func TestParseDeadline(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 2*60*60)
	now := time.Date(2026, 11, 23, 22, 30, 0, 0, zone)
	for text, want := range map[string]string{
		"07:00": "2026-11-24T05:00:00Z", "22:30": "2026-11-24T20:30:00Z", "23:00": "2026-11-23T21:00:00Z",
		"8h": "2026-11-24T04:30:00Z", "2026-11-25T07:00:00+01:00": "2026-11-25T06:00:00Z", "": "0001-01-01T00:00:00Z",
	} {
		got, err := job.ParseDeadline(now, text)
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%q: %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"7", "25:00", "tomorrow", "2026-11-25"} {
		if at, err := job.ParseDeadline(now, text); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v, %v", text, at, err)
		}
	}
}

// TestNextDeadline: from its deadline on a job starts nothing, cancels what runs, waits for it, and says so in its
// verdict; a job of which nothing is open ends as ever [J12].
func TestNextDeadline(t *testing.T) {
	t.Parallel()
	j := job.Job{
		Key: "jobs/nightly", Phase: job.Running, Parts: 2, Round: 1, Input: job.Input{Requests: 20},
		Options: job.Options{Deadline: midnight}.WithDefaults(),
	}
	open := []job.Part{
		{Key: "jobs/nightly/00001", Number: 1, Round: 1, State: job.Started, Batch: "batches/a"},
		{Key: "jobs/nightly/00002", Number: 2, Round: 1, State: job.Planned},
	}
	step := job.Next(midnight.Add(-time.Second), j, slices.Clone(open), false, room(10))
	if len(step.Start) != 1 || step.DeadlineReached {
		t.Errorf("before: %+v", step)
	}
	step = job.Next(midnight, j, open, false, room(10))
	if !step.DeadlineReached || !step.Changed() || len(step.Start) > 0 || len(step.Cancel) != 1 || step.Finish ||
		!step.Job.DeadlineReached.Equal(midnight) || step.Parts[0].State != job.Dropped ||
		step.Parts[0].Problem != "the deadline was reached" {
		t.Errorf("then: %+v", step)
	}
	j, open = step.Job, []job.Part{open[0]}
	open[0].State, open[0].CancelPlanned, open[0].Counts = job.Collected, true, job.Counts{Done: 7}
	open[0].Again = []job.Source{{Object: "again", Length: 1, Requests: 3}}
	if step = job.Next(midnight, j, open, false, room(10)); step.DeadlineReached || step.Job.Counts.Done != 7 ||
		len(step.Job.Waiting) > 0 || len(step.Start) > 0 {
		t.Errorf("collected: %+v", step)
	}
	step.Job.Counts.Failed = 13
	if state, why := step.Job.Verdict(); state != operation.Failed || !strings.HasPrefix(why, "the deadline ") ||
		!strings.Contains(why, " was reached, and 13 of 20 requests were not done") {
		t.Errorf("%s: %s", state, why)
	}
	j.DeadlineReached = time.Time{}
	open[0].Again = nil
	if step = job.Next(midnight, j, open, false, room(10)); step.DeadlineReached || !step.Finish {
		t.Errorf("nothing is open: %+v", step)
	}
	held := job.Job{Options: j.Options, Hold: &job.Hold{}, Phase: job.Running, Parts: 1}
	open = []job.Part{{State: job.Starting, Number: 1}}
	if step = job.Next(midnight, held, open, false, room(10)); !step.DeadlineReached ||
		!step.Changed() {
		t.Errorf("held: %+v", step)
	}
}

// TestNextCancelAfter: a batch that has run for longer than it may is cancelled once, and what it did not do is sent
// again; without the option none ever is.
func TestNextCancelAfter(t *testing.T) {
	t.Parallel()
	j := job.Job{
		Key: "jobs/nightly", Phase: job.Running, Parts: 1, Round: 1, Input: job.Input{Requests: 2},
	}
	p := job.Part{
		Number: 1, Round: 1, State: job.Started, Batch: "batches/a", StartedAt: midnight, CancelAt: midnight.Add(time.Hour),
	}
	j.Options = j.Options.WithDefaults()
	at := func(after time.Duration, p job.Part) job.Step {
		return job.Next(midnight.Add(after), j, []job.Part{p}, false, room(10))
	}
	if step := at(time.Hour-time.Second, p); len(step.Cancel) > 0 {
		t.Errorf("before: %+v", step)
	}
	step := at(time.Hour, p)
	if len(step.Cancel) != 1 || step.Job.Ending() {
		t.Fatalf("then: %+v", step)
	}
	if again := at(2*time.Hour, step.Parts[0]); again.Changed() {
		t.Errorf("again: %+v", again)
	}
	p.State, p.Again = job.Collected, []job.Source{{Object: "again", Length: 1, Requests: 2}}
	if step := at(2*time.Hour, p); step.Job.Round != 2 || len(step.Start) != 1 {
		t.Errorf("collected: %+v", step)
	}
	p.CancelAt, p.State, p.Again = time.Time{}, job.Started, nil
	j.Options.CancelAfterSeconds = 60 // set since it was started
	if step := at(1000*time.Hour, p); step.Changed() {
		t.Errorf("without: %+v", step)
	}
}
