package ledgertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// nightly is the job of these tests.
const nightly operation.Key = "jobs/nightly"

// JobRequest returns a job of that many requests, each a byte of the input.
func JobRequest(requests int64, options job.Options) ledger.JobRequest {
	options.Model = "gemini-3.5-flash"
	return ledger.JobRequest{
		Key: nightly, Submission: operation.Submission{JobKind: "reviews"}, Options: options, Storage: "gs://bucket/jobs",
		Input: job.Input{SHA256: "0a1b", Bytes: requests, Requests: requests, Object: "nightly/input"},
	}
}

// RedriveRequest returns a redrive of that job, of its requests with these outcomes.
func RedriveRequest(outcomes ...job.Outcome) ledger.JobRequest {
	r := JobRequest(1, job.Options{})
	r.Key, r.Input.SHA256 = "jobs/nightly-2", "0a1c"
	r.Redrive = ledger.Redriving{Of: nightly, Outcomes: outcomes, Decision: ledger.Decision{By: "ann", Why: "a test"}}
	return r
}

// submitJob submits a job whose batches have one request each, which must succeed.
func (w *world) submitJob(requests int64, options job.Options) ledger.JobSubmitted {
	w.Helper()
	options.MaxRequestsPerBatch = 1
	submitted, err := w.ledger().Jobs.Submit(w.ctx, JobRequest(requests, options))
	w.must("Submit", err)
	return submitted
}

func (w *world) must(what string, err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%s: %v", what, err)
	}
}

// step claims a step, which must be granted.
func (w *world) step(key operation.Key, name string) ledger.Lease {
	w.Helper()
	grant, err := w.ledger().Effects.Claim(w.ctx, key, name)
	if err != nil || grant.Verdict != ledger.Claimed {
		w.Fatalf("claiming %s of %s: %s, %v", name, key, grant.Verdict, err)
	}
	return grant.Lease
}

func (w *world) job() ledger.StoredJob {
	w.Helper()
	j, err := w.ledger().Jobs.Read(w.ctx, nightly)
	w.must("Read", err)
	return j
}

func (w *world) part(number int) ledger.StoredPart {
	w.Helper()
	p, _, err := w.ledger().Jobs.Part(w.ctx, operation.PartKey(nightly, number))
	w.must("Part", err)
	return p
}

// heldJobs are the jobs that are held.
func (w *world) heldJobs() []ledger.HeldJob {
	w.Helper()
	running, err := w.ledger().Jobs.Running(w.ctx)
	w.must("Running", err)
	return running.HeldJobs()
}

func (w *world) advance() ledger.Advanced {
	w.Helper()
	advanced, err := w.ledger().Jobs.Advance(w.ctx, nightly)
	w.must("Advance", err)
	return advanced
}

// cut performs the job's split: a part for each request.
func (w *world) cut() { w.cutNaming(0) }

// cutNaming is cut of a job whose requests name so many files at Gemini.
func (w *world) cutNaming(references int64) {
	w.Helper()
	lease, j := w.step(nightly, job.StepSplit), w.job()
	j.References.Count = references
	var ranges []job.Source
	for i := range j.Input.Requests {
		ranges = append(ranges, job.Source{Object: j.Input.Object, Offset: i, Length: 1, Requests: 1})
	}
	_, err := w.ledger().Jobs.Cut(w.ctx, lease, j, ranges, true)
	w.must("Cut", err)
	w.must("Finish", w.ledger().Effects.Finish(w.ctx, lease))
	w.advance()
}

func batchOf(number int) operation.Name {
	name := operation.Key(fmt.Sprintf("batches/%036d", number))
	return operation.Name{Key: name, Resource: string(name)}
}

// startPart performs a part's start.
func (w *world) startPart(number int) {
	w.Helper()
	p := w.part(number)
	lease := w.step(p.Key, job.StepStart)
	intent, err := w.ledger().Jobs.Announce(w.ctx, p.Part, w.job().Job, "attempt")
	w.must("Announce", err)
	equal(w, "the start", intent.Verdict, ledger.MaySubmit)
	p.Creations++
	p, err = w.ledger().Jobs.Save(w.ctx, lease, p)
	w.must("Save", err)
	registered, err := w.ledger().Jobs.Bind(w.ctx, p.Part, w.job().Job, batchOf(number))
	w.must("Bind", errors.Join(err, registered.CorrelationErr))
	p.State, p.Batch = job.Started, batchOf(number).Key
	w.must("Finish", w.ledger().Effects.Finish(w.ctx, lease, p.Write()))
}

// endBatch lets the batch of a part succeed.
func (w *world) endBatch(number int) ledger.Receipt {
	w.Helper()
	e := w.event(fmt.Sprint("end-", number), operation.Succeeded, time.Minute)
	e.Name = batchOf(number)
	return w.ingest(e)
}

// collect performs the collect of a part, whose one request is done.
func (w *world) collect(number int) {
	w.Helper()
	lease := w.step(batchOf(number).Key, job.StepCollect)
	p := w.part(number)
	p.State, p.Counts, p.Usage = job.Collected, job.Counts{Done: 1}, job.Usage{Input: 2, Output: 3}
	w.must("Finish", w.ledger().Effects.Finish(w.ctx, lease, p.Write()))
}

// finishJob performs the job's last step.
func (w *world) finishJob() {
	w.Helper()
	lease, j := w.step(nightly, job.StepFinish), w.job()
	j.Phase, j.Output.Results = job.Ended, job.Object{Name: "nightly/results.jsonl", Size: 1}
	w.must("Finish", w.ledger().Effects.Finish(w.ctx, lease, j.Write()))
}

var jobTests = join(jobLife, jobSteps, jobDecisions, jobRedrives, jobQuotas)

var jobLife = []ledgerTest{
	{"a job ends once, and its effects are planned then [J8]", func(w *world) {
		w.submitJob(2, job.Options{})
		w.cut()
		for n := 1; n <= 2; n++ {
			w.startPart(n)
			equal(w, "effects planned", w.endBatch(n).Planned, 1)
			w.collect(n)
		}
		w.advance()
		w.finishJob()
		w.outbox.sent()
		equal(w, "settled", w.advance().Settled, true)
		equal(w, "settled again", w.advance().Settled, false)
		equal(w, "published", fmt.Sprint(w.outbox.sent()), fmt.Sprint([]ledger.Message{
			{Operation: operation.PartKey(nightly, 1), Effect: job.StepTidy, Attempt: 1},
			{Operation: nightly, Effect: publish, Attempt: 1},
		}))
		w.name = nameOf(w, string(nightly))
		rec, j := w.record(), w.job()
		equal(w, "state", rec.State, operation.Succeeded)
		equal(w, "output", rec.Result.OutputFile, "gs://bucket/jobs/nightly/results.jsonl")
		equal(w, "counts", *rec.Result.Counts, operation.Counts{Total: 2, Succeeded: 2})
		equal(w, "usage", j.Usage, job.Usage{Input: 4, Output: 6})
		equal(w, "batches", j.Batches, 2)
		equal(w, "the number [L6]", rec.Schema, 2)
		equal(w, "parts expire", w.part(1).ExpireAt.IsZero() || j.ExpireAt.IsZero(), false)
	}},
	{"the effects of a job get what became of its requests, and what that cost", func(w *world) {
		w.settings.Prices = job.Prices{"gemini-3.5-flash": {Input: 1e6, Output: 2e6}}
		w.submitJob(2, job.Options{})
		w.cut()
		for n := 1; n <= 2; n++ {
			w.startPart(n)
			w.endBatch(n)
			w.collect(n)
		}
		w.advance()
		w.finishJob()
		w.advance()
		found, _, err := w.ledger().Effects.Read(w.ctx, ledger.EffectName{Operation: nightly, Effect: publish})
		w.must("Read", err)
		var payload ledger.Payload
		w.must("Unmarshal", json.Unmarshal([]byte(found[0].Payload), &payload))
		equal(w, "the report", fmt.Sprintf("%+v", *payload.Job), fmt.Sprintf("%+v", ledger.JobReport{
			Requests: 2, Counts: job.Counts{Done: 2}, Batches: 2, Rounds: 1, Tokens: job.Usage{Input: 4, Output: 6},
			EstimatedCost: payload.Job.EstimatedCost,
		}))
		equal(w, "the cost", *payload.Job.EstimatedCost, 16.0)
	}},
	{"the batch of a part runs its own step alone", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		w.startPart(1)
		w.endBatch(1)
		w.name = batchOf(1)
		rec := w.record()
		if len(rec.Effects) != 1 || rec.Effects[job.StepCollect] != operation.EffectOpen || rec.Schema != 2 {
			w.Errorf("effects %v, number %d", rec.Effects, rec.Schema)
		}
		w.collect(1)
		equal(w, "it expires", w.record().ExpireAt.IsZero(), false)
	}},
	{"an event that binds a part's intent plans its collect [J3]", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		_, err := w.ledger().Jobs.Announce(w.ctx, w.part(1).Part, w.job().Job, "attempt")
		w.must("Announce", err)
		e := w.event("end", operation.Succeeded, time.Minute)
		e.Name, e.CorrelationID = batchOf(1), string(operation.PartKey(nightly, 1))
		receipt := w.ingest(e)
		equal(w, "bound", receipt.Bound, true)
		equal(w, "planned", receipt.Planned, 1)
		w.step(batchOf(1).Key, job.StepCollect)
	}},
	{"a batch that ended longer ago than the retention is collected all the same", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		w.startPart(1)
		e := w.event("late", operation.Succeeded, -100*day)
		e.Name = batchOf(1)
		receipt := w.ingest(e)
		equal(w, "planned", receipt.Planned, 1)
		equal(w, "withheld", receipt.Withheld, 0)
	}},
	{"the same again is the same job, another input or option is refused [J1]", func(w *world) {
		equal(w, "created", w.submitJob(1, job.Options{}).Created, true)
		again := w.submitJob(1, job.Options{MaxAttempts: job.DefaultMaxAttempts})
		equal(w, "created again", again.Created, false)
		for what, r := range map[string]ledger.JobRequest{
			"input": JobRequest(2, job.Options{MaxRequestsPerBatch: 1}), "options": JobRequest(1, job.Options{}),
		} {
			if what == "input" {
				r.Input.SHA256 = "0a1c"
			}
			if _, err := w.ledger().Jobs.Submit(w.ctx, r); !errors.Is(err, ledger.ErrJobDiffers) {
				w.Errorf("another %s: %v", what, err)
			}
		}
	}},
}

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
