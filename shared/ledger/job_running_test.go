package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// TestNoteUnmatched: of the jobs with lines of results that answer no request the 20 that ended last are kept, and none
// for longer than a day.
func TestNoteUnmatched(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	s := RunningBatches{Unmatched: map[string]Unmatched{}}
	ended := func(i int, at time.Time) {
		key := operation.Key(fmt.Sprint("jobs/j", i))
		s.noteUnmatched(job.Job{
			Key: key, Phase: job.Ended, Counts: job.Counts{Unmatched: int64(i)}, Storage: "/jobs",
			Output: job.Output{Unmatched: job.Object{Name: fmt.Sprint("unmatched", i)}},
		}, at)
	}
	ended(2, start)
	last := start.Add(UnmatchedFor + time.Second)
	ended(1, last)
	if len(s.Unmatched) != 1 || s.UnmatchedJobs(last)[0].Job != "jobs/j1" {
		t.Errorf("a day later: %+v", s.Unmatched)
	}
	for i := range 25 {
		last = last.Add(time.Second)
		ended(i+2, last)
	}
	ended(26, last.Add(time.Minute)) // it ended before
	jobs := s.UnmatchedJobs(last)
	if len(jobs) != mostUnmatched || jobs[0].Job != "jobs/j26" || jobs[mostUnmatched-1].Job != "jobs/j7" {
		t.Errorf("%+v", jobs)
	}
	if want := (Unmatched{26, "/jobs", "unmatched26", last}); jobs[0].Unmatched != want {
		t.Errorf("%+v, want %+v", jobs[0], want)
	}
	for what, j := range map[string]job.Job{
		"runs": {Phase: job.Running, Counts: job.Counts{Unmatched: 1}}, "has no such line": {Phase: job.Ended},
		"was closed before": {Phase: job.Ended, Counts: job.Counts{Unmatched: 1}, ExpireAt: last},
	} {
		j.Key = "jobs/other"
		last = last.Add(time.Second) // it would be the first of the list
		if s.noteUnmatched(j, last); s.UnmatchedJobs(last)[0].Job == j.Key {
			t.Errorf("one that %s is listed", what)
		}
	}
}
