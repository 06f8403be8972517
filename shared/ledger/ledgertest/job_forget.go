package ledgertest

import (
	"errors"
	"fmt"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// endJob submits a job, and lets it end.
func (w *world) endJob(requests int64) {
	w.Helper()
	w.submitJob(requests, job.Options{})
	w.cut()
	for n := 1; n <= int(requests); n++ {
		w.startPart(n)
		w.endBatch(n)
		w.collect(n)
	}
	w.advance()
	w.finishJob()
	equal(w, "settled", w.advance().Settled, true)
	w.name = nameOf(w, string(nightly))
	w.finish(w.granted(publish))
}

// forgetJob forgets the job.
func (w *world) forgetJob(l *ledger.Ledger) (int, error) { return l.Operations.Forget(w.ctx, nightly) }

// leftOfJob returns the paths of what there is of a job with so many parts.
func (w *world) leftOfJob(parts int) []ledger.Path {
	w.Helper()
	paths := []ledger.Path{
		ledger.JobPath(nightly), ledger.OperationPath(nightly), ledger.EffectPath(nightly, publish),
		ledger.EffectPath(nightly, job.StepSplit), ledger.EffectPath(nightly, job.StepFinish),
	}
	for n := 1; n <= parts; n++ {
		part := operation.PartKey(nightly, n)
		paths = append(paths, ledger.JobPath(nightly).Child(ledger.PartsCollection, fmt.Sprintf("%05d", n)),
			ledger.EffectPath(part, job.StepStart), ledger.OperationPath(batchOf(n).Key),
			ledger.EffectPath(batchOf(n).Key, job.StepCollect), ledger.Path(ledger.IntentsCollection+"/"+
				fmt.Sprintf("jobs:nightly:%05d", n)))
	}
	paths = append(paths, ledger.EffectPath(operation.PartKey(nightly, 1), job.StepTidy))
	var left []ledger.Path
	for _, path := range paths {
		if w.document(path).Exists() {
			left = append(left, path)
		}
	}
	return left
}

var jobForget = join([]ledgerTest{
	{"a job that has ended, with its parts and their batches, and nothing else [L3]", func(w *world) {
		w.succeed()
		w.endJob(3)
		equal(w, "documents", len(w.leftOfJob(3)), 21)
		n, err := w.forgetJob(w.ledger())
		if err != nil || n < 21 {
			w.Errorf("Forget: %d, %v", n, err)
		}
		equal(w, "left", fmt.Sprint(w.leftOfJob(3)), "[]")
		w.refusedAs("again", second(w.forgetJob(w.ledger())), ledger.ErrNotFound)
		w.refusedAs("Read", second(w.ledger().Jobs.Read(w.ctx, nightly)), ledger.ErrNoJob)
		w.name = nameOf(w, "batches/abc-123")
		equal(w, "another operation", w.record().State, operation.Succeeded)
		equal(w, "created again", w.submitJob(3, job.Options{}).Created, true)
	}},
	{"a job that has not ended is cancelled first", func(w *world) {
		w.submitJob(1, job.Options{})
		w.refusedAs("splitting", second(w.forgetJob(w.ledger())), ledger.ErrJobPending)
		w.cut()
		w.startPart(1)
		w.endBatch(1)
		w.collect(1)
		w.advance()
		w.finishJob()
		w.refusedAs("its record is not settled", second(w.forgetJob(w.ledger())), ledger.ErrJobPending)
		w.advance()
		w.must("Forget", second(w.forgetJob(w.ledger())))
	}},
	{"whose plan has expired, and whose record has not, has no successor of its id [J1]", func(w *world) {
		w.endJob(1)
		w.delete(ledger.JobPath(nightly))
		_, err := w.ledger().Jobs.Submit(w.ctx, JobRequest(1, job.Options{}))
		w.refusedAs("Submit", err, ledger.ErrJobDiffers)
		w.must("Forget", second(w.forgetJob(w.ledger())))
	}},
	{"that is advanced after its record has expired gets no other [L3]", func(w *world) {
		w.endJob(1)
		w.store.Advance(15 * day)
		w.delete(ledger.OperationPath(nightly))
		w.delete(ledger.OperationPath(nightly).Child(ledger.DeliveriesCollection, "job-end"))
		equal(w, "settled", w.advance().Settled, false)
		equal(w, "it has a record", w.document(ledger.OperationPath(nightly)).Exists(), false)
	}},
	{"a part that another job counts as running stays counted", func(w *world) {
		w.endJob(1)
		other := JobRequest(1, job.Options{MaxRequestsPerBatch: 1})
		other.Key = "jobs/other"
		_, err := w.ledger().Jobs.Submit(w.ctx, other)
		w.must("Submit", err)
		lease := w.step(other.Key, job.StepSplit)
		j, err := w.ledger().Jobs.Read(w.ctx, other.Key)
		w.must("Read", err)
		_, err = w.ledger().Jobs.Cut(w.ctx, lease, j, []job.Source{{Object: "other", Length: 1, Requests: 1}}, true)
		w.must("Cut", err)
		_, err = w.ledger().Jobs.Advance(w.ctx, other.Key)
		w.must("Advance", err)
		w.must("Forget", second(w.forgetJob(w.ledger())))
		running, err := w.ledger().Jobs.Running(w.ctx)
		if err != nil || len(running.Parts) != 1 {
			w.Errorf("%d run, %v", len(running.Parts), err)
		}
	}},
}, lostly("Forget of a job: each commit is made once [M6]", func(w *world, l *ledger.Ledger) {
	w.endJob(2)
	if _, err := w.forgetJob(l); err != nil && !errors.Is(err, ledger.ErrNotFound) {
		w.Errorf("Forget: %v", err)
	}
	equal(w, "left", fmt.Sprint(w.leftOfJob(2)), "[]")
}))
