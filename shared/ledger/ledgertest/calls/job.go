package calls

import (
	"context"
	"errors"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
)

// nightly is the job that most calls are about, and first its first part.
const nightly operation.Key = "jobs/nightly"

var first = operation.PartKey(nightly, 1)

// submitJob submits a job of two requests, each a batch.
func (w *World) submitJob() {
	request := ledgertest.JobRequest(2, job.Options{MaxRequestsPerBatch: 1})
	got[ledger.JobSubmitted](w)(w.Ledger.Jobs.Submit(w.Ctx, request))
}

func (w *World) readJob() ledger.StoredJob {
	w.Helper()
	return got[ledger.StoredJob](w)(w.Ledger.Jobs.Read(w.Context(), nightly))
}

func (w *World) readPart() ledger.StoredPart {
	w.Helper()
	p, _, err := w.Ledger.Jobs.Part(w.Context(), first)
	w.must(err)
	return p
}

// step claims a step of the job.
func (w *World) step(of operation.Key, name string) {
	w.Helper()
	w.Lease = got[ledger.Grant](w)(w.Ledger.Effects.Claim(w.Ctx, of, name)).Lease
}

func ranges(j ledger.StoredJob) []job.Source {
	return []job.Source{
		{Object: j.Input.Object, Length: 1, Requests: 1}, {Object: j.Input.Object, Offset: 1, Length: 1, Requests: 1},
	}
}

// splitting holds the job's split.
func splitting(w *World) {
	w.submitJob()
	w.step(nightly, job.StepSplit)
	w.job = w.readJob()
}

// split is a job with two parts, neither of them started.
func split(w *World) {
	splitting(w)
	got[ledger.StoredJob](w)(w.Ledger.Jobs.Cut(w.Ctx, w.Lease, w.job, ranges(w.job), true))
	w.must(w.Ledger.Effects.Finish(w.Ctx, w.Lease))
}

// starting holds the start of the first part.
func starting(w *World) {
	split(w)
	got[ledger.Advanced](w)(w.Ledger.Jobs.Advance(w.Ctx, nightly))
	w.step(first, job.StepStart)
	w.job, w.part = w.readJob(), w.readPart()
}

// announced has the intent of the first part's batch.
func announced(w *World) {
	starting(w)
	got[ledger.Intent](w)(w.Ledger.Jobs.Announce(w.Ctx, w.part.Part, w.job.Job, "first"))
}

// started has the batch of the first part.
func started(w *World) {
	announced(w)
	got[ledger.Registered](w)(w.Ledger.Jobs.Bind(w.Ctx, w.part.Part, w.job.Job, nameOf(1)))
	w.part.State, w.part.Batch = job.Started, key
	w.must(w.Ledger.Effects.Finish(w.Ctx, w.Lease, w.part.Write()))
}

// endedJob was cancelled while one of its two parts ran, and has ended since.
func endedJob(w *World) {
	settings := w.Ledger.Settings()
	settings.MaxBatches = 1
	w.open(settings)
	started(w)
	got[operation.Decided](w)(w.Ledger.Jobs.Cancel(w.Ctx, nightly, decision))
	got[ledger.Receipt](w)(w.Ledger.Operations.Ingest(w.Ctx, w.event("d1", operation.Succeeded)))
	w.step(key, job.StepCollect)
	w.part = w.readPart()
	w.part.State, w.part.Counts = job.Collected, job.Counts{Done: 1}
	w.must(w.Ledger.Effects.Finish(w.Ctx, w.Lease, w.part.Write()))
	got[ledger.Advanced](w)(w.Ledger.Jobs.Advance(w.Ctx, nightly))
	w.step(nightly, job.StepFinish)
	w.job = w.readJob()
	w.job.Phase, w.job.Counts.Failed = job.Ended, 1
	w.must(w.Ledger.Effects.Finish(w.Ctx, w.Lease, w.job.Write()))
	got[ledger.Advanced](w)(w.Ledger.Jobs.Advance(w.Ctx, nightly))
}

// paused is a job that was split, and paused before a part was started.
func paused(w *World) {
	split(w)
	got[job.Hold](w)(w.Ledger.Jobs.Pause(w.Ctx, nightly, decision))
}

// held is a job that its pilot holds.
func held(w *World) {
	request := ledgertest.JobRequest(2, job.Options{MaxRequestsPerBatch: 1, MaxAttempts: 1, Pilot: 1})
	got[ledger.JobSubmitted](w)(w.Ledger.Jobs.Submit(w.Ctx, request))
	w.step(nightly, job.StepSplit)
	w.job = w.readJob()
	got[ledger.StoredJob](w)(w.Ledger.Jobs.Cut(w.Ctx, w.Lease, w.job, ranges(w.job), true))
	w.must(w.Ledger.Effects.Finish(w.Ctx, w.Lease))
	got[ledger.Advanced](w)(w.Ledger.Jobs.Advance(w.Ctx, nightly))
	w.step(first, job.StepStart)
	w.part = w.readPart()
	w.part.State, w.part.Counts = job.Collected, job.Counts{Refused: 1}
	w.must(w.Ledger.Effects.Finish(w.Ctx, w.Lease, w.part.Write()))
	got[ledger.Advanced](w)(w.Ledger.Jobs.Advance(w.Ctx, nightly))
	w.job = w.readJob()
}

var decision = ledger.Decision{By: "an operator", Why: "a test"}

// stale is what a caller is answered that asks again after its own write.
var stale = []error{ledger.ErrContention}

var jobCalls = []Call{
	{Name: "Jobs.Submit", Arrange: nothing, Act: func(w *World) (any, error) {
		submitted, err := w.Ledger.Jobs.Submit(w.Ctx, ledgertest.JobRequest(2, job.Options{}))
		return submitted.Job.Phase, err
	}},
	{Name: "Jobs.Submit/redrive", Arrange: endedJob, Act: func(w *World) (any, error) {
		submitted, err := w.Ledger.Jobs.Submit(w.Ctx, ledgertest.RedriveRequest(job.OutcomeFailed))
		j, readErr := w.Ledger.Jobs.Read(w.Ctx, nightly)
		return []any{submitted.Job.Redrives, len(j.RedrivenBy)}, errors.Join(err, readErr)
	}},
	{Name: "Jobs.Cut", Arrange: splitting, Act: func(w *World) (any, error) {
		cut, err := w.Ledger.Jobs.Cut(w.Ctx, w.Lease, w.job, ranges(w.job), true)
		return cut.Parts, err
	}, Settled: stale},
	{Name: "Jobs.Advance", Arrange: split, Act: func(w *World) (any, error) {
		advanced, err := w.Ledger.Jobs.Advance(w.Ctx, nightly)
		return advanced.Job.Phase, err
	}},
	{Name: "Jobs.TooLarge", Arrange: starting, Act: func(w *World) (any, error) {
		p := w.part.Part
		p.Requests = 1000
		_, err := w.Ledger.Jobs.TooLarge(w.Ctx, w.job.Job, p)
		running, readErr := w.Ledger.Jobs.Running(w.Ctx)
		return !running.Models[w.job.Options.Model].RefusedAt.IsZero(), errors.Join(err, readErr)
	}},
	{Name: "Jobs.CountListed", Arrange: starting, Act: func(w *World) (any, error) {
		_, err := w.Ledger.Jobs.CountListed(w.Ctx, time.Time{}, []ledger.Listed{
			{CorrelationID: string(first)}, {CorrelationID: "nightly-7"}, {}, {Doubtful: true},
		})
		running, readErr := w.Ledger.Jobs.Running(w.Ctx)
		return running.Others, errors.Join(err, readErr)
	}},
	{Name: "Jobs.Save", Arrange: starting, Act: func(w *World) (any, error) {
		p := w.part
		p.Creations = 1
		saved, err := w.Ledger.Jobs.Save(w.Ctx, w.Lease, p)
		return saved.Creations, err
	}, Settled: stale},
	{Name: "Jobs.Announce", Arrange: starting, Act: func(w *World) (any, error) {
		intent, err := w.Ledger.Jobs.Announce(w.Ctx, w.part.Part, w.job.Job, "first")
		return intent.Verdict, err
	}},
	{Name: "Jobs.Withdraw", Arrange: announced, Act: func(w *World) (any, error) {
		return w.Ledger.Jobs.Withdraw(w.Ctx, w.part.Part, "first")
	}},
	{Name: "Jobs.Bind", Arrange: announced, Act: func(w *World) (any, error) {
		registered, err := w.Ledger.Jobs.Bind(w.Ctx, w.part.Part, w.job.Job, nameOf(1))
		return registered.Record.Key, errors.Join(err, registered.CorrelationErr)
	}},
	{Name: "Jobs.Cancel", Arrange: split, Act: func(w *World) (any, error) {
		stands, err := w.Ledger.Jobs.Cancel(w.Ctx, nightly, decision)
		return stands.Why, err
	}},
	{Name: "Jobs.Pause", Arrange: split, Act: func(w *World) (any, error) {
		stands, err := w.Ledger.Jobs.Pause(w.Ctx, nightly, decision)
		return stands.Why, err
	}},
	{Name: "Jobs.Resume", Arrange: paused, Act: func(w *World) (any, error) {
		err := w.Ledger.Jobs.Resume(w.Ctx, nightly, decision)
		j, readErr := w.Ledger.Jobs.Read(w.Ctx, nightly)
		return j.Hold == nil, errors.Join(err, readErr)
	}},
	{Name: "Jobs.Change", Arrange: split, Act: func(w *World) (any, error) {
		most := 3
		j, err := w.Ledger.Jobs.Change(w.Ctx, nightly, job.Limits{MaxBatches: &most}, decision)
		return j.Options.MaxBatches, err
	}},
	{Name: "Jobs.Alerted", Arrange: held, Act: func(w *World) (any, error) {
		err := w.Ledger.Jobs.Alerted(w.Ctx, nightly, w.job.Hold.At)
		j, readErr := w.Ledger.Jobs.Read(w.Ctx, nightly)
		return j.Hold != nil && j.Hold.Alerted, errors.Join(err, readErr)
	}},
	{Name: "Jobs.Release", Arrange: started, Act: func(w *World) (any, error) {
		stands, err := w.Ledger.Jobs.Release(w.Ctx, first, decision)
		return stands.Why, err
	}},
	{Name: "Operations.Forget/job", Arrange: endedJob, Act: func(w *World) (any, error) {
		return w.Ledger.Operations.Forget(w.Ctx, nightly)
	}, Settled: []error{ledger.ErrNotFound}},
}

func jobReads() []Call {
	type (
		ctx = context.Context
		l   = *ledger.Ledger
	)
	var start ledger.Cursor
	return []Call{
		reading("Jobs.Read", func(c ctx, l l) (job.Phase, error) { j, err := l.Jobs.Read(c, nightly); return j.Phase, err }),
		reading("Jobs.Part", func(c ctx, l l) (job.State, error) {
			p, _, err := l.Jobs.Part(c, first)
			return p.State, err
		}),
		reading("Jobs.Parts", func(c ctx, l l) (ledger.Page[ledger.StoredPart], error) {
			return l.Jobs.Parts(c, nightly, start, 10)
		}),
		reading("Jobs.OpenParts", func(c ctx, l l) (ledger.Page[ledger.StoredPart], error) {
			return l.Jobs.OpenParts(c, nightly, start, 10)
		}),
		reading("Jobs.Allowed", func(c ctx, l l) (job.Allowed, error) { return l.Jobs.Allowed(c, "gemini-3.5-flash") }),
		reading("Jobs.Running", func(c ctx, l l) (ledger.RunningBatches, error) { return l.Jobs.Running(c) }),
	}
}
