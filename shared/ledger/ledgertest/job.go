package ledgertest

import (
	"errors"
	"fmt"
	"strings"
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
func (w *world) collect(number int) { w.collectLines(number, 0) }

// collectLines is collect of a batch whose result has so many lines that answer no request.
func (w *world) collectLines(number int, unmatched int64) {
	w.Helper()
	lease := w.step(batchOf(number).Key, job.StepCollect)
	p := w.part(number)
	p.State, p.Counts, p.Usage = job.Collected, job.Counts{Done: 1, Unmatched: unmatched}, job.Usage{Input: 2, Output: 3}
	w.must("Finish", w.ledger().Effects.Finish(w.ctx, lease, p.Write()))
}

// finishJob performs the job's last step.
func (w *world) finishJob() {
	w.Helper()
	lease, j := w.step(nightly, job.StepFinish), w.job()
	j.Phase, j.Output.Results = job.Ended, job.Object{Name: "nightly/results.jsonl", Size: 1}
	if j.Counts.Unmatched > 0 {
		j.Output.Unmatched = job.Object{Name: "nightly/unmatched.jsonl", Size: 1}
	}
	w.must("Finish", w.ledger().Effects.Finish(w.ctx, lease, j.Write()))
}

// deadlineLogged checks that it is logged once that the deadline of a job was reached.
func (w *world) deadlineLogged(key operation.Key) {
	w.Helper()
	line := fmt.Sprintf(`"event":"alert","reason":"job-deadline","operation":%q,"since":`, key)
	equal(w, "lines of "+string(key), strings.Count(w.logged.String(), line), 1)
}

var jobTests = join(jobLife, jobSteps, jobDecisions, jobRedrives, jobQuotas)
