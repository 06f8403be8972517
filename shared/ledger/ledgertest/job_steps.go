package ledgertest

import (
	"errors"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

var jobSteps = []ledgerTest{
	{"a part starts while the ledger has a free batch, and frees it when it is consumed", func(w *world) {
		w.settings.MaxBatches = 2
		w.submitJob(3, job.Options{})
		w.cut()
		running, err := w.ledger().Jobs.Running(w.ctx)
		if err != nil || len(running.Parts) != 2 {
			w.Errorf("%d run, %v", len(running.Parts), err)
		}
		equal(w, "the third", w.part(3).State, job.Planned)
		w.startPart(1)
		w.endBatch(1)
		w.collect(1)
		w.advance()
		equal(w, "the first", w.part(1).State, job.Consumed)
		equal(w, "the third", w.part(3).State, job.Starting)
		running, _ = w.ledger().Jobs.Running(w.ctx)
		equal(w, "running", len(running.Parts), 2)
	}},
	{"what Gemini's list has unfinished leaves less room, until no pass reads it any more", func(w *world) {
		w.settings.MaxBatches = 3
		list := func(others int, next operation.Key) {
			w.Helper()
			listed := slices.Repeat([]ledger.Listed{{}, {CorrelationID: "of-another"}}, others/2)
			listed = append(listed, ledger.Listed{Doubtful: true},
				ledger.Listed{CorrelationID: string(operation.PartKey("jobs/nightly", 1))})
			now, err := w.ledger().Now(w.ctx)
			w.must("Now", err)
			got, err := w.ledger().Jobs.CountListed(w.ctx, now, listed)
			w.must("CountListed", err)
			equal(w, "the job with room", got, next)
		}
		list(98, "") // and the part, which is not counted yet
		w.submitJob(3, job.Options{})
		w.cut()
		running := func(what string, parts int) {
			w.Helper()
			w.advance()
			found, err := w.ledger().Jobs.Running(w.ctx)
			w.must("Running", err)
			equal(w, what, len(found.Parts), parts)
		}
		running("beside 99 others", 1)
		list(98, "jobs/nightly")
		running("beside 98 others", 2)
		list(100, "")
		running("started ones stay", 2)
		w.store.Advance(3 * w.settings.Interval)
		running("when the list is old", 3)
	}},
	{"batches that end together are one write of the job", func(w *world) {
		w.submitJob(5, job.Options{})
		w.cut()
		for n := 1; n <= 5; n++ {
			w.startPart(n)
			w.endBatch(n)
			w.collect(n)
		}
		before := w.job().Version
		equal(w, "steps", w.advance().Steps, 1)
		equal(w, "writes", w.job().Version-before, int64(1))
	}},
	{"open requests go into a part of the next round in the commit that consumes theirs [J2]", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		w.startPart(1)
		w.endBatch(1)
		lease, p := w.step(batchOf(1).Key, job.StepCollect), w.part(1)
		p.State, p.Again = job.Collected, []job.Source{{Object: "nightly/again", Length: 1, Requests: 1}}
		w.must("Finish", w.ledger().Effects.Finish(w.ctx, lease, p.Write()))
		w.advance()
		next := w.part(2)
		equal(w, "round", next.Round, 2)
		equal(w, "state", next.State, job.Starting)
		equal(w, "source", next.Sources[0].Object, "nightly/again")
	}},
	{"a worker whose lease was lost changes no part [S6]", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		p := w.part(1)
		lost := w.step(p.Key, job.StepStart)
		w.store.Advance(2 * w.settings.ClaimTTL)
		w.step(p.Key, job.StepStart)
		if _, err := w.ledger().Jobs.Save(w.ctx, lost, p); !errors.Is(err, ledger.ErrLeaseLost) {
			w.Errorf("Save: %v", err)
		}
	}},
	{"a part that has changed since it was read is not overwritten", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		old := w.part(1)
		lease := w.step(old.Key, job.StepStart)
		_, err := w.ledger().Jobs.Save(w.ctx, lease, old)
		w.must("Save", err)
		old.Creations = 7
		if _, err := w.ledger().Jobs.Save(w.ctx, lease, old); !errors.Is(err, ledger.ErrContention) {
			w.Errorf("Save: %v", err)
		}
	}},
	{"a second batch of a part is a twin [J2]", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		w.startPart(1)
		registered, err := w.ledger().Jobs.Bind(w.ctx, w.part(1).Part, w.job().Job, batchOf(2))
		w.must("Bind", err)
		if !errors.Is(registered.CorrelationErr, ledger.ErrCorrelation) {
			w.Errorf("the second: %v", registered.CorrelationErr)
		}
	}},
	{"the first event with the id of a second batch of a part counts it, in that commit [J2]", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		w.startPart(1)
		e := w.event("twin-0", operation.Running, time.Hour)
		e.Name = batchOf(2)
		for i, id := range []string{"twin-0", "twin-1", "twin-1", "twin-2"} {
			e.DeliveryID, e.CorrelationID = id, ""
			if i > 0 {
				e.CorrelationID = string(operation.PartKey("jobs/nightly", 1))
			}
			receipt, err := w.ledger().Operations.Ingest(w.ctx, e)
			w.must("Ingest", err)
			equal(w, "a twin, by event "+id, receipt.Twin, i == 1)
			equal(w, "registered", receipt.Registered, false)
		}
		equal(w, "twins", w.job().Twins, 1)
	}},
	{"nothing but a job has its names and ids [J3]", func(w *world) {
		r := w.registration()
		r.CorrelationID = "jobs/nightly/00001"
		_, err := w.ledger().Operations.Register(w.ctx, r)
		errs := []error{err}
		_, err = w.ledger().Operations.Register(w.ctx, ledger.Registration{Name: nameOf(w, "jobs/nightly")})
		errs = append(errs, err)
		_, err = w.ledger().Intents.Intend(w.ctx, ledger.Intention{Submission: r.Submission})
		errs = append(errs, err)
		_, err = w.ledger().Intents.Withdraw(w.ctx, r.CorrelationID, "attempt")
		for i, err := range append(errs, err) {
			if !errors.Is(err, operation.ErrReserved) {
				w.Errorf("%d: %v", i, err)
			}
		}
	}},
}
