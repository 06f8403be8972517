package progress_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

const nightly operation.Key = "jobs/nightly"

// A reads counts the reads of a store.
type reads struct {
	ledger.Store
	made int
}

func (r *reads) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	r.made++
	return r.Store.Get(ctx, paths...)
}

func (r *reads) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	r.made++
	return r.Store.Query(ctx, q)
}

// A job is read in at most three reads, whatever it is about to do.
func TestRead(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "ledger.db"), time.Now)
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	counted := &reads{Store: store}
	l, err := ledger.New(counted, settings(), ledger.Options{})
	must(t, err)
	read := func() progress.Progress {
		t.Helper()
		counted.made = 0
		p, err := progress.Read(ctx, l.Reading(), nightly)
		must(t, err)
		if counted.made > 4 {
			t.Errorf("%d reads", counted.made)
		}
		return p
	}
	if _, err := progress.Read(ctx, l.Reading(), nightly); !errors.Is(err, ledger.ErrNoJob) {
		t.Errorf("of no job: %v", err)
	}
	_, err = l.Jobs.Submit(ctx, ledgertest.JobRequest(4, job.Options{MaxRequestsPerBatch: 1, MaxBatches: 3}))
	must(t, err)
	if p := read(); p.State != operation.Pending || p.Phase != job.Splitting || p.Open != 4 || p.JobKind != "reviews" {
		t.Errorf("submitted: %+v", p)
	}
	cut(t, l)
	if p := read(); p.Phase != job.Running ||
		p.Batches != (progress.Batches{Total: 4, Running: 3, Starting: 3, Planned: 1}) || p.Round != 1 || p.Waiting != nil {
		t.Errorf("cut: %+v", p)
	}
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for number, change := range map[int]func(*job.Part){
		1: func(p *job.Part) { p.Waits, p.WaitsSince = job.WaitsForQuota, noon.Add(time.Hour) },
		2: func(p *job.Part) { p.Waits, p.WaitsSince = job.WaitsForAccess, noon },
		3: func(p *job.Part) {
			p.State = job.Collected
			p.Counts, p.Usage = job.Counts{Refused: 1}, job.Usage{Input: 5}
			p.Failures = []job.Failure{{Key: "k3", Outcome: job.OutcomeRefused}}
		},
	} {
		p, _, err := l.Jobs.Part(ctx, operation.PartKey(nightly, number))
		must(t, err)
		change(&p.Part)
		_, err = l.Jobs.Save(ctx, claim(t, l, p.Key, job.StepStart), p)
		must(t, err)
	}
	p := read()
	if p.Batches != (progress.Batches{Total: 4, Done: 1, Running: 2, Starting: 2, Planned: 1}) {
		t.Errorf("batches: %+v", p.Batches)
	}
	if p.Counts.Refused != 1 || len(p.Failures) != 1 || p.Open != 3 || p.Usage.Input != 5 {
		t.Errorf("requests: %+v, %d open, %+v", p.Counts, p.Open, p.Usage)
	}
	if p.Waiting == nil || *p.Waiting != (progress.Waiting{
		Part: operation.PartKey(nightly, 2), Reason: job.WaitsForAccess, Since: noon,
	}) {
		t.Errorf("it waits for %+v", p.Waiting)
	}
	_, err = l.Jobs.Advance(ctx, nightly)
	must(t, err)
	if p := read(); p.Batches != (progress.Batches{Total: 4, Done: 1, Running: 3, Starting: 3}) || p.Counts.Refused != 1 {
		t.Errorf("consumed: %+v, %+v", p.Batches, p.Counts)
	}
}

// TestReadLacks: a job that has no room for its next batch says what it lacks, and how much all jobs have of it.
func TestReadLacks(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const flash = "gemini-3.5-flash"
	type waiting = progress.Waiting
	for name, test := range map[string]struct {
		quota int64
		want  waiting
	}{
		"batch": {0, waiting{Reason: job.WaitsForBatch, Used: 2, Most: 2}},
		"token": {1, waiting{Reason: job.WaitsForTokens, Used: 1, Most: 1, Model: flash, Tokens: 1}},
	} {
		store, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "ledger.db"), time.Now)
		must(t, err)
		t.Cleanup(func() { must(t, store.Close()) })
		s := settings()
		s.MaxBatches = 2
		if test.quota > 0 {
			s.EnqueuedTokens = job.Quotas{flash: test.quota}
		}
		l, err := ledger.New(store, s, ledger.Options{})
		must(t, err)
		_, err = l.Jobs.Submit(ctx, ledgertest.JobRequest(4, job.Options{MaxRequestsPerBatch: 1}))
		must(t, err)
		cut(t, l)
		p, err := progress.Read(ctx, l.Reading(), nightly)
		must(t, err)
		test.want.Part, test.want.Since = operation.PartKey(nightly, int(test.want.Used)+1), p.SteppedAt
		if p.Waiting == nil || *p.Waiting != test.want {
			t.Errorf("%s: it waits for %+v, want %+v", name, p.Waiting, test.want)
		}
	}
}

// Behind the open parts that are read, all that are not done are taken for planned.
func TestReadMany(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "ledger.db"), time.Now)
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	l, err := ledger.New(store, settings(), ledger.Options{})
	must(t, err)
	_, err = l.Jobs.Submit(ctx, ledgertest.JobRequest(400, job.Options{MaxRequestsPerBatch: 1, MaxBatches: 3}))
	must(t, err)
	cut(t, l)
	p, err := progress.Read(ctx, l.Reading(), nightly)
	must(t, err)
	if p.Batches != (progress.Batches{Total: 400, Running: 3, Starting: 3, Planned: 397}) {
		t.Errorf("%+v", p.Batches)
	}
}

// What a job that has ended came to is known with its record, and without.
func TestOfEnded(t *testing.T) {
	t.Parallel()
	j := job.Job{
		Key: nightly, Phase: job.Ended, Input: job.Input{Requests: 2}, Counts: job.Counts{Done: 1, Failed: 1},
	}
	settled := operation.Record{Version: 2, State: operation.Failed}
	settled.Result.ErrorMessage = "as the record has it"
	for name, test := range map[string]struct {
		rec operation.Record
		why string
	}{
		"record":  {settled, "as the record has it"},
		"expired": {operation.Record{}, "1 of 2 requests were not done, and --max-failures allows 0"},
	} {
		p := progress.Of(j, test.rec, nil, ledger.RunningBatches{})
		if p.State != operation.Failed || !p.Ended() || p.Why != test.why || p.Open != 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
	j.Options.MaxFailures = "1"
	p := progress.Of(j, operation.Record{}, nil, ledger.RunningBatches{})
	if p.State != operation.Succeeded || p.Why != "" {
		t.Errorf("tolerated: %+v", p)
	}
	running := job.Job{Key: nightly, Phase: job.Running, Input: j.Input, Waiting: []job.Gathering{{Requests: 2}}}
	p = progress.Of(running, operation.Record{}, nil, ledger.RunningBatches{})
	if p.State != operation.Pending || p.Gathered != 2 || p.Ended() {
		t.Errorf("running: %+v", p)
	}
}

func settings() ledger.Settings {
	s := ledger.DefaultSettings()
	s.MaxBatches = 10
	return s
}

// cut performs the job's split: a part for each request.
func cut(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	lease := claim(t, l, nightly, job.StepSplit)
	j, err := l.Jobs.Read(t.Context(), nightly)
	must(t, err)
	var ranges []job.Source
	for i := range j.Input.Requests {
		ranges = append(ranges, job.Source{Object: j.Input.Object, Offset: i, Length: 1, Requests: 1})
	}
	_, err = l.Jobs.Cut(t.Context(), lease, j, ranges, true)
	must(t, err)
	must(t, l.Effects.Finish(t.Context(), lease))
	_, err = l.Jobs.Advance(t.Context(), nightly)
	must(t, err)
}

func claim(t *testing.T, l *ledger.Ledger, key operation.Key, step string) ledger.Lease {
	t.Helper()
	grant, err := l.Effects.Claim(t.Context(), key, step)
	must(t, err)
	if grant.Verdict != ledger.Claimed {
		t.Fatalf("%s of %s: %s", step, key, grant.Verdict)
	}
	return grant.Lease
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
