package overview_test

import (
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestReadHeld: a job that opledger holds is a problem, however many newer ones there are; one that an operator has
// paused is a note. One that has ended, or was deleted, and is still listed as held is neither.
func TestReadHeld(t *testing.T) {
	t.Parallel()
	store, l := newLedger(t)
	held := func(reason job.HoldReason) job.Hold {
		return job.Hold{Reason: reason, Decided: operation.Decided{At: time.Now(), By: "opledger", Why: "a test"}}
	}
	running := ledger.RunningBatches{Schema: 2, Version: 1, Held: map[string]job.Hold{
		"jobs:deleted": held(job.HeldByReferences),
	}}
	writes := []ledger.Write{{Path: ledger.PassesCollection + "/batches", Data: running}}
	for key, j := range map[operation.Key]job.Job{
		"jobs/old":    {Phase: job.Running, Hold: new(held(job.HeldByReferences))},
		"jobs/paused": {Phase: job.Running, Hold: new(held(job.HeldByOperator))},
		"jobs/ended":  {Phase: job.Ended, Hold: new(held(job.HeldByReferences))},
	} {
		j.Schema, j.Version, j.Key = 2, 1, key
		running.Held[strings.ReplaceAll(string(key), "/", ":")] = *j.Hold
		writes = append(writes, ledger.Write{Path: ledger.JobPath(key), Data: j})
	}
	if _, err := store.Commit(t.Context(), writes...); err != nil {
		t.Fatal(err)
	}
	o, err := overview.Read(t.Context(), l.Reading(), overview.Options{Interval: time.Minute, Most: 1})
	if err != nil || len(o.Jobs.Stopped) != 1 || o.Jobs.Stopped[0].Key != "jobs/old" || len(o.Problems) != 1 ||
		o.Problems[0].Command != "opledger show jobs/old" {
		t.Errorf("%+v, %v", o.Jobs, err)
	}
	if len(o.Notes) != 1 || o.Notes[0].Words != "the job jobs/paused goes no further: an operator has paused it" ||
		o.Notes[0].Operation != "jobs/paused" {
		t.Errorf("%+v", o.Notes)
	}
}

// TestReadUnmatched: a job that ended lately with lines of results that answer no request is a problem for a day, with
// the place of the lines.
func TestReadUnmatched(t *testing.T) {
	t.Parallel()
	store, l := newLedger(t)
	now := time.Now()
	if _, err := store.Commit(t.Context(), endedUnmatched(map[string]time.Time{
		"jobs:lately": now.Add(-time.Hour), "jobs:before": now.Add(-25 * time.Hour),
	})); err != nil {
		t.Fatal(err)
	}
	o, err := overview.Read(t.Context(), l.Reading(), overview.Options{Interval: time.Minute, Most: 10})
	if err != nil || len(o.Jobs.Unmatched) != 1 || o.Jobs.Unmatched[0].Key != "jobs/lately" || len(o.Problems) != 1 ||
		o.Problems[0].Command != "opledger results jobs/lately --kind unmatched" ||
		!strings.HasSuffix(o.Problems[0].Words, "they are in /jobs/unmatched.jsonl") {
		t.Errorf("%+v, %+v, %v", o.Jobs, o.Problems, err)
	}
}

// endedUnmatched lists jobs that ended with lines of results that answer no request, by the ids of their documents.
func endedUnmatched(endedAt map[string]time.Time) ledger.Write {
	running := ledger.RunningBatches{Schema: 2, Version: 1, Unmatched: map[string]ledger.Unmatched{}}
	for id, at := range endedAt {
		running.Unmatched[id] = ledger.Unmatched{Lines: 2, Storage: "/jobs", Object: "unmatched.jsonl", EndedAt: at}
	}
	return ledger.Write{Path: ledger.PassesCollection + "/batches", Data: running}
}
