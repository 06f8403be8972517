package ledgertest

import (
	"errors"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

var jobDecisions = []ledgerTest{
	{"a cancelled job starts nothing, asks Gemini to cancel what runs, and keeps what succeeded", func(w *world) {
		w.settings.MaxBatches = 1
		w.submitJob(2, job.Options{})
		w.cut()
		w.startPart(1)
		stands, err := w.ledger().Jobs.Cancel(w.ctx, nightly, cancelling)
		w.must("Cancel", err)
		equal(w, "why", stands.Why, cancelling.Why)
		equal(w, "the second", w.part(2).State, job.Dropped)
		w.step(operation.PartKey(nightly, 1), job.StepCancel)
		w.endBatch(1)
		w.collect(1)
		w.advance()
		w.finishJob()
		w.advance()
		w.name = nameOf(w, string(nightly))
		equal(w, "state", w.record().State, operation.Cancelled)
		equal(w, "done", w.record().Result.Counts.Succeeded, int64(1))
		if _, err := w.ledger().Jobs.Cancel(w.ctx, nightly, cancelling); err != nil {
			w.Errorf("again: %v", err)
		}
	}},
	{"a job whose batches have all ended is not cancelled", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		w.startPart(1)
		w.endBatch(1)
		w.collect(1)
		w.advance()
		if _, err := w.ledger().Jobs.Cancel(w.ctx, nightly, cancelling); !errors.Is(err, ledger.ErrSettled) {
			w.Errorf("%v", err)
		}
	}},
	{"a paused job starts nothing, is not stuck however long it is, and goes on once it is resumed [J11]", func(w *world) {
		w.submitJob(2, job.Options{})
		hold, err := w.ledger().Jobs.Pause(w.ctx, nightly, cancelling)
		w.must("Pause", err)
		again, err := w.ledger().Jobs.Pause(w.ctx, nightly, ledger.Decision{By: "another", Why: "another"})
		w.must("Pause again", err)
		equal(w, "who paused it", again, hold)
		equal(w, "it is found", w.heldJobs()[0], ledger.HeldJob{Job: nightly, Hold: hold})
		w.cut()
		w.advance()
		equal(w, "the first", w.part(1).State, job.Planned)
		for range 3 {
			w.store.Advance(2 * ledger.JobStuckAfter)
			equal(w, "stuck", w.lookUpJob().Stuck, false)
		}
		equal(w, "stuck since", w.record().StuckSince, time.Time{})
		if err := w.ledger().Jobs.Resume(w.ctx, nightly, ledger.Decision{By: "ada"}); !errors.Is(err, ledger.ErrNoReason) {
			w.Errorf("without a reason: %v", err)
		}
		w.must("Resume", w.ledger().Jobs.Resume(w.ctx, nightly, cancelling))
		w.must("Resume again", w.ledger().Jobs.Resume(w.ctx, nightly, cancelling))
		equal(w, "the first, resumed", w.part(1).State, job.Starting)
		equal(w, "held jobs", len(w.heldJobs()), 0)
	}},
	{"a job whose limits were changed is the one that was submitted, and says who changed what [J1]", func(w *world) {
		w.submitJob(3, job.Options{})
		running := func() (n int) {
			for number := range 3 {
				if w.part(number+1).State == job.Starting {
					n++
				}
			}
			return n
		}
		most, bad, failures := 1, 0, job.Tolerance("1%")
		_, err := w.ledger().Jobs.Change(w.ctx, nightly, job.Limits{MaxBatches: &bad}, cancelling)
		if !errors.Is(err, operation.ErrSubmission) {
			w.Errorf("no batch at all: %v", err)
		}
		_, err = w.ledger().Jobs.Change(w.ctx, nightly, job.Limits{}, cancelling)
		if !errors.Is(err, operation.ErrSubmission) {
			w.Errorf("nothing: %v", err)
		}
		for range 2 { // the second time nothing changes
			_, err = w.ledger().Jobs.Change(w.ctx, nightly, job.Limits{MaxBatches: &most, MaxFailures: &failures}, cancelling)
			w.must("Change", err)
		}
		w.cut()
		equal(w, "running", running(), 1)
		most = 2
		j, err := w.ledger().Jobs.Change(w.ctx, nightly, job.Limits{MaxBatches: &most}, cancelling)
		w.must("Change again", err)
		equal(w, "running then", running(), 2)
		equal(w, "changes", len(j.Changes), 2)
		equal(w, "what", j.Changes[0].What, "maxBatches 20 → 1, maxFailures 0 → 1%")
		equal(w, "why", j.Changes[1].Why, cancelling.Why)
		equal(w, "as submitted", j.AsSubmitted().MaxBatches, job.DefaultMaxBatches)
		equal(w, "created again", w.submitJob(3, job.Options{}).Created, false)
		changed := JobRequest(3, job.Options{MaxRequestsPerBatch: 1, MaxBatches: 2})
		if _, err := w.ledger().Jobs.Submit(w.ctx, changed); !errors.Is(err, ledger.ErrJobDiffers) {
			w.Errorf("as changed: %v", err)
		}
	}},
	{"a pass finds that a job's deadline is past, and plans its alert in that commit [J12]", func(w *world) {
		w.paged()
		deadline := w.start.Add(time.Hour)
		_, err := w.ledger().Jobs.Submit(w.ctx, JobRequest(1, job.Options{Deadline: w.start}))
		if !errors.Is(err, operation.ErrSubmission) {
			w.Errorf("in the past: %v", err)
		}
		w.submitJob(3, job.Options{MaxBatches: 1, Deadline: deadline})
		w.cut()
		w.startPart(1)
		w.store.Advance(time.Hour)
		equal(w, "submitted again, with another one", w.submitJob(3, job.Options{MaxBatches: 1}).Created, false)
		w.advance()
		equal(w, "reached", w.job().DeadlineReached.IsZero(), false)
		equal(w, "the second", w.part(2).State, job.Dropped)
		cancels := read[ledger.Effect](w, ledger.EffectPath("jobs/nightly/00001", job.StepCancel))
		equal(w, "its cancellation", cancels.State, ledger.EffectPending)
		notice := w.alertIn(read[ledger.Effect](w, ledger.EffectPath(nightly, "page@deadline-1")), "deadline")
		equal(w, "since", notice.Since, operation.Instant(deadline))
		equal(w, "detail", strings.HasPrefix(notice.Detail, "0 of 3 requests are done, 0 ended otherwise; "), true)
		equal(w, "steps then", w.advance().Steps, 0)
	}},
	{"what finds that a job's deadline is past logs it, once: a pass, or an operator's decision [J12]", func(w *world) {
		options := job.Options{Deadline: w.start.Add(time.Hour)}
		w.submitJob(1, options)
		w.cut()
		w.startPart(1)
		jobs, most := w.ledger().Jobs, 2
		found := map[operation.Key]func(operation.Key) error{
			"jobs/advanced": func(key operation.Key) error { return second(jobs.Advance(w.ctx, key)) },
			"jobs/paused":   func(key operation.Key) error { return second(jobs.Pause(w.ctx, key, cancelling)) },
			"jobs/resumed":  func(key operation.Key) error { return jobs.Resume(w.ctx, key, cancelling) },
			"jobs/changed": func(key operation.Key) error {
				return second(jobs.Change(w.ctx, key, job.Limits{MaxBatches: &most}, cancelling))
			},
		}
		for key := range found {
			other := JobRequest(1, options)
			other.Key = key
			w.cutOther(other)
		}
		w.must("Pause", second(jobs.Pause(w.ctx, "jobs/resumed", cancelling)))
		found[nightly] = func(key operation.Key) error {
			return second(jobs.Release(w.ctx, operation.PartKey(key, 1), cancelling))
		}
		w.store.Advance(time.Hour)
		for key, find := range found {
			w.must(string(key), find(key))
			w.must("Advance", second(jobs.Advance(w.ctx, key)))
			w.deadlineLogged(key)
		}
	}},
	{"a job whose pilot fails is held with the rest unstarted, is alerted of once, and goes on once resumed [J13]",
		func(w *world) {
			w.submitJob(3, job.Options{Pilot: 1, MaxAttempts: 1})
			w.cut()
			equal(w, "the pilot", w.part(1).State, job.Starting)
			equal(w, "the others", w.part(2).State, job.Planned)
			equal(w, "the pilot is before them", w.part(1).WaitingSince, w.job().CreatedAt)
			w.startPart(1)
			w.endBatch(1)
			lease, p := w.step(batchOf(1).Key, job.StepCollect), w.part(1)
			p.State, p.Counts = job.Collected, job.Counts{Invalid: 1}
			w.must("Finish", w.ledger().Effects.Finish(w.ctx, lease, p.Write()))
			held := w.advance().Job
			equal(w, "the others, held", w.part(2).State, job.Planned)
			equal(w, "an alert is due", held.AlertsHold(), true)
			w.must("Alerted, of another", w.ledger().Jobs.Alerted(w.ctx, nightly, held.Hold.At.Add(-time.Second)))
			equal(w, "an alert is due still", w.job().AlertsHold(), true)
			w.must("Alerted", w.ledger().Jobs.Alerted(w.ctx, nightly, held.Hold.At))
			equal(w, "an alert is due again", w.job().AlertsHold(), false)
			w.must("Resume", w.ledger().Jobs.Resume(w.ctx, nightly, cancelling))
			equal(w, "the others, resumed", w.part(2).State, job.Starting)
			equal(w, "it is held", w.job().Hold == nil, true)
		}},
	{"a job that may cost so much needs a price, is held at its limit, and goes on with a higher one [J10]",
		func(w *world) {
			request := JobRequest(2, job.Options{MaxRequestsPerBatch: 1, MaxCost: 0.0101})
			if _, err := w.ledger().Jobs.Submit(w.ctx, request); !errors.Is(err, operation.ErrSubmission) {
				w.Errorf("without a price: %v", err)
			}
			w.settings.Prices = job.Prices{"gemini-3.5-flash": {Input: 10, Output: 10}}
			w.submitJob(2, job.Options{MaxCost: 0.0101})
			w.cut()
			equal(w, "the first", w.part(1).State, job.Starting)
			equal(w, "the second", w.part(2).State, job.Planned)
			w.startPart(1)
			w.endBatch(1)
			lease, p := w.step(batchOf(1).Key, job.StepCollect), w.part(1)
			p.State, p.Counts, p.Usage = job.Collected, job.Counts{Done: 1}, job.Usage{Output: 900}
			w.must("Finish", w.ledger().Effects.Finish(w.ctx, lease, p.Write()))
			w.advance()
			equal(w, "the reason", w.job().Hold.Reason, job.HeldByCost)
			_, err := w.ledger().Jobs.Pause(w.ctx, nightly, cancelling)
			w.must("Pause", err)
			most := 0.02
			j, err := w.ledger().Jobs.Change(w.ctx, nightly, job.Limits{MaxCost: &most}, cancelling)
			w.must("Change", err)
			equal(w, "what", j.Changes[0].What, "maxCost 0.0101 → 0.02")
			equal(w, "the second, paused", w.part(2).State, job.Planned)
			w.must("Resume", w.ledger().Jobs.Resume(w.ctx, nightly, cancelling))
			equal(w, "the second, then", w.part(2).State, job.Starting)
			equal(w, "it is held", w.job().Hold == nil, true)
		}},
	{"files that requests name are looked up before a part is started, and what is gone holds the job [J15]",
		func(w *world) {
			w.submitJob(2, job.Options{})
			w.cutNaming(3)
			equal(w, "the first", w.part(1).State, job.Planned)
			lease, p := w.step(operation.PartKey(nightly, 1), job.StepReferences), w.part(1)
			p.LookedUp = &job.References{Round: 1, Gone: 1, First: "files/a", Open: 1, Expires: w.start.Add(time.Hour)}
			w.must("Finish", w.ledger().Effects.Finish(w.ctx, lease, p.Write()))
			j := w.advance().Job
			equal(w, "the reason", j.Hold.Reason, job.HeldByReferences)
			equal(w, "an alert is due", j.AlertsHold(), true)
			equal(w, "it is found", w.heldJobs()[0].Why, j.Hold.Why)
			equal(w, "how many are named", j.References.Count, int64(3))
			equal(w, "the first, held", w.part(1).State, job.Planned)
			w.must("Resume", w.ledger().Jobs.Resume(w.ctx, nightly, cancelling))
			lease, p = w.step(operation.PartKey(nightly, 1), job.StepStart), w.part(1)
			p.State, p.Unreferenced, p.Counts = job.Refused, true, job.Counts{Refused: 1}
			w.must("Finish", w.ledger().Effects.Finish(w.ctx, lease, p.Write()))
			j = w.advance().Job
			equal(w, "refused", j.Counts.Refused, int64(1))
			equal(w, "refused for what they name", j.References.Refused, int64(1))
			equal(w, "the first, at the end", w.part(1).State, job.Consumed)
			equal(w, "the second", w.part(2).State, job.Starting)
		}},
	{"only an operator's release gives up a batch [J6]", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		first := operation.PartKey(nightly, 1)
		if _, err := w.ledger().Jobs.Release(w.ctx, first, cancelling); !errors.Is(err, ledger.ErrNotRunning) {
			w.Errorf("before it runs: %v", err)
		}
		w.startPart(1)
		if _, err := w.ledger().Jobs.Release(w.ctx, first, ledger.Decision{}); !errors.Is(err, ledger.ErrNoReason) {
			w.Errorf("without a reason: %v", err)
		}
		stands, err := w.ledger().Jobs.Release(w.ctx, first, cancelling)
		w.must("Release", err)
		equal(w, "why", stands.Why, cancelling.Why)
		equal(w, "the first", w.part(1).State, job.Released)
		equal(w, "the second", w.part(2).State, job.Starting)
		w.step(first, job.StepCancel)
	}},
	{"a part whose start is dead can be released", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		first := operation.PartKey(nightly, 1)
		w.must("MarkDead", w.ledger().Effects.MarkDead(w.ctx, w.step(first, job.StepStart), errFailed))
		_, err := w.ledger().Jobs.Release(w.ctx, first, cancelling)
		w.must("Release", err)
		equal(w, "the first", w.part(1).State, job.Released)
	}},
	{"jobs that find no room take turns", func(w *world) {
		w.settings.MaxBatches = 1
		w.submitJob(3, job.Options{})
		w.cut()
		other := JobRequest(1, job.Options{})
		other.Key = "jobs/other"
		advanced := w.cutOther(other)
		equal(w, "steps of the one that came later", advanced.Steps, 0)
		for n := 1; n <= 2; n++ { // the first one has waited longer, and then is behind the other
			w.store.Advance(time.Second)
			w.startPart(n)
			w.endBatch(n)
			w.collect(n)
			advanced = w.advance()
		}
		equal(w, "its third part waits for its turn", w.part(3).State, job.Planned)
		equal(w, "the one that has waited", advanced.Waiting, other.Key)
		_, err := w.ledger().Jobs.Advance(w.ctx, other.Key)
		w.must("Advance", err)
		p, _, err := w.ledger().Jobs.Part(w.ctx, operation.PartKey(other.Key, 1))
		w.must("Part", err)
		equal(w, "its part", p.State, job.Starting)
	}},
	{"a release gives up a batch that may have been created, and its worker creates none any more [J6]", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		first := operation.PartKey(nightly, 1)
		lease, p := w.step(first, job.StepStart), w.part(1)
		p.Waits = job.WaitsForIntent
		p, err := w.ledger().Jobs.Save(w.ctx, lease, p)
		w.must("Save", err)
		_, err = w.ledger().Jobs.Release(w.ctx, first, cancelling)
		w.must("Release", err)
		p.Creations++ // as before each creation [J5]
		if _, err := w.ledger().Jobs.Save(w.ctx, lease, p); !errors.Is(err, ledger.ErrContention) {
			w.Errorf("the worker goes on: %v", err)
		}
		equal(w, "the first", w.part(1).State, job.Released)
		equal(w, "the second", w.part(2).Round, 2)
		equal(w, "twins", w.job().Twins, 1)
	}},
	{"a job that was deleted is held no more, and where that is not stored the error is the store's", func(w *world) {
		w.submitJob(1, job.Options{})
		w.must("Pause", second(w.ledger().Jobs.Pause(w.ctx, nightly, cancelling)))
		w.delete(ledger.JobPath(nightly))
		err := second(w.over(Inject(w.store, Times(3, FailBefore)...)).Jobs.Advance(w.ctx, nightly))
		if !errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrNoJob) {
			w.Errorf("while the store is down: %v", err)
		}
		w.refusedAs("then", second(w.ledger().Jobs.Advance(w.ctx, nightly)), ledger.ErrNoJob)
		equal(w, "held jobs", len(w.heldJobs()), 0)
	}},
	{"what there is not", func(w *world) {
		for _, err := range []error{
			w.ledger().Jobs.Alerted(w.ctx, nightly, time.Time{}),
			second(w.ledger().Jobs.Read(w.ctx, nightly)), second(w.ledger().Jobs.Advance(w.ctx, nightly)),
			second(w.ledger().Jobs.Cancel(w.ctx, nightly, cancelling)),
			second(w.ledger().Jobs.Release(w.ctx, operation.PartKey(nightly, 1), cancelling)),
			second(w.ledger().Jobs.Release(w.ctx, "batches/a", cancelling)),
		} {
			if !errors.Is(err, ledger.ErrNoJob) {
				w.Errorf("%v", err)
			}
		}
	}},
}

func second[T any](_ T, err error) error { return err }
