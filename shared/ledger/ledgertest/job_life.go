package ledgertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

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
	{"a job that ended with lines which answer none is listed for a day, unless it is forgotten [J9]", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		w.startPart(1)
		w.endBatch(1)
		w.collectLines(1, 2)
		w.advance()
		listed := func() []ledger.UnmatchedJob {
			running, err := w.ledger().Jobs.Running(w.ctx)
			w.must("Running", err)
			return running.UnmatchedJobs(w.now())
		}
		equal(w, "listed before it has ended", len(listed()), 0)
		w.finishJob()
		w.advance()
		jobs, document := listed(), ledger.Path("passes/batches")
		if len(jobs) != 1 || jobs[0].EndedAt.IsZero() {
			w.Fatalf("%+v", jobs)
		}
		equal(w, "listed", jobs[0], ledger.UnmatchedJob{Job: nightly, Unmatched: ledger.Unmatched{
			Lines: 2, Storage: "gs://bucket/jobs", Object: "nightly/unmatched.jsonl", EndedAt: jobs[0].EndedAt,
		}})
		version := w.document(document).Token
		w.store.Advance(ledger.UnmatchedFor + time.Second)
		w.advance()
		equal(w, "written again", w.document(document).Token, version)
		equal(w, "listed a day later", len(listed()), 0)
		w.name = nameOf(w, string(nightly))
		w.finish(w.granted(publish))
		if _, err := w.forgetJob(w.ledger()); err != nil {
			w.Fatal(err)
		}
		equal(w, "of one that was forgotten", len(read[ledger.RunningBatches](w, document).Unmatched), 0)
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
