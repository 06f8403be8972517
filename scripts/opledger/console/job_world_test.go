package console

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// The jobs of a world, which fillJobs makes.
const (
	nightly operation.Key = "jobs/nightly" // its batches run
	ended   operation.Key = "jobs/ended"   // FAILED
	young   operation.Key = "jobs/young"   // its input is not cut yet
)

// fillJobs makes jobs:
//
//	jobs/nightly  8 parts: 1 consumed with requests of each outcome, 2 started, 3 waits for quota,
//	              4 was refused and dropped, 5 and 6 are about to start, 7 and 8 wait for a free batch
//	jobs/ended    its one batch has ended with a failed request
//	jobs/young    submitted
func (w *world) fillJobs() {
	w.Helper()
	w.submit(nightly, 8, job.Options{MaxBatches: 4})
	w.cut(nightly, 8)
	for n := 1; n <= 2; n++ {
		w.start(nightly, n)
	}
	w.event(batchKey(nightly, 1), "end-nightly", operation.Succeeded, operation.Webhook)
	w.collect(nightly, 1, job.Counts{Done: 9000, Refused: 70, Failed: 5, Invalid: 20, Truncated: 5, Unmatched: 1}, 900)
	w.saveStart(nightly, 3, func(p *job.Part) { p.Waits, p.WaitsSince = job.WaitsForQuota, w.now.Add(-time.Hour) })
	w.saveStart(nightly, 4, func(p *job.Part) { p.State, p.Problem = job.Refused, "INVALID_ARGUMENT: "+hostile })
	w.advance(nightly)
	w.submit(ended, 1, job.Options{})
	w.ends(ended, job.Output{Results: job.Object{Name: "ended/0a1b/results.jsonl", Size: 1_200_000}})
	w.submit(young, 1, job.Options{})
}

// ends lets a job of one part end, of whose 10,000 requests one failed.
func (w *world) ends(key operation.Key, output job.Output) {
	w.Helper()
	w.cut(key, 1)
	w.start(key, 1)
	w.event(batchKey(key, 1), "end-"+key.ID(), operation.Succeeded, operation.Webhook)
	w.collect(key, 1, job.Counts{Done: 9999, Failed: 1}, 0)
	w.advance(key)
	lease := w.claim(key, job.StepFinish)
	j, err := w.Jobs.Read(w.Context(), key)
	w.do(err)
	j.Phase, j.Output = job.Ended, output
	w.do(w.Effects.Finish(w.Context(), lease, j.Write()))
	w.advance(key)
}

// submit submits a job of that many parts, of 10,000 requests each.
func (w *world) submit(key operation.Key, parts int64, options job.Options) {
	w.Helper()
	options.Model = cmp.Or(options.Model, "gemini-3.5-flash")
	_, err := w.Jobs.Submit(w.Context(), ledger.JobRequest{
		Key: key, Submission: operation.Submission{JobKind: "reviews"}, Options: options, Storage: "gs://bucket/jobs",
		Input: job.Input{
			SHA256: "0a1b", Bytes: 1000 * parts, Requests: 10_000 * parts, Object: key.ID() + "/0a1b/input.jsonl",
		},
	})
	w.do(err)
}

func (w *world) claim(key operation.Key, step string) ledger.Lease {
	w.Helper()
	grant, err := w.Effects.Claim(w.Context(), key, step)
	w.do(err)
	if grant.Verdict != ledger.Claimed {
		w.Fatalf("%s of %s: %s", step, key, grant.Verdict)
	}
	return grant.Lease
}

func (w *world) advance(key operation.Key) {
	w.Helper()
	_, err := w.Jobs.Advance(w.Context(), key)
	w.do(err)
}

// cut performs the job's split.
func (w *world) cut(key operation.Key, parts int64) {
	w.Helper()
	lease := w.claim(key, job.StepSplit)
	j, err := w.Jobs.Read(w.Context(), key)
	w.do(err)
	var ranges []job.Source
	for i := range parts {
		ranges = append(ranges, job.Source{Object: j.Input.Object, Offset: 1000 * i, Length: 1000, Requests: 10_000})
	}
	_, err = w.Jobs.Cut(w.Context(), lease, j, ranges, true)
	w.do(err)
	w.do(w.Effects.Finish(w.Context(), lease))
	w.advance(key)
}

func (w *world) part(key operation.Key, number int) ledger.StoredPart {
	w.Helper()
	p, _, err := w.Jobs.Part(w.Context(), operation.PartKey(key, number))
	w.do(err)
	return p
}

func batchKey(key operation.Key, number int) operation.Key {
	return operation.Key(fmt.Sprintf("batches/%s-%d", key.ID(), number))
}

// start performs a part's start.
func (w *world) start(key operation.Key, number int) {
	w.Helper()
	p := w.part(key, number)
	lease := w.claim(p.Key, job.StepStart)
	j, err := w.Jobs.Read(w.Context(), key)
	w.do(err)
	_, err = w.Jobs.Announce(w.Context(), p.Part, j.Job, "attempt")
	w.do(err)
	p.Creations++
	p, err = w.Jobs.Save(w.Context(), lease, p)
	w.do(err)
	batch := batchKey(key, number)
	registered, err := w.Jobs.Bind(w.Context(), p.Part, j.Job, operation.Name{Key: batch, Resource: string(batch)})
	w.do(errors.Join(err, registered.CorrelationErr))
	p.State, p.Batch = job.Started, batch
	w.do(w.Effects.Finish(w.Context(), lease, p.Write()))
}

// saveStart records what the start of a part came to, which goes on later.
func (w *world) saveStart(key operation.Key, number int, change func(*job.Part)) {
	w.Helper()
	p := w.part(key, number)
	lease := w.claim(p.Key, job.StepStart)
	change(&p.Part)
	_, err := w.Jobs.Save(w.Context(), lease, p)
	w.do(err)
	w.do(w.Effects.Postpone(w.Context(), lease, errors.New("it waits"), time.Hour))
}

// collect performs the collect of a part, of which so many requests are to be sent again.
func (w *world) collect(key operation.Key, number int, counts job.Counts, again int64) {
	w.Helper()
	lease := w.claim(batchKey(key, number), job.StepCollect)
	p := w.part(key, number)
	p.State, p.Counts = job.Collected, counts
	p.Usage = job.Usage{Input: 2_000_000, Output: 90_000, Cached: 1000, Thinking: 7}
	if counts.NotDone() > 0 {
		p.Failures = []job.Failure{{Key: "review-<17>", Outcome: job.OutcomeInvalid, Why: "it is no JSON: " + hostile}}
	}
	if again > 0 {
		p.Again = []job.Source{{Object: "again", Length: 1000, Requests: again}}
	}
	w.do(w.Effects.Finish(w.Context(), lease, p.Write()))
}
