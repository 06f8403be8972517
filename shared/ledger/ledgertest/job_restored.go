package ledgertest

import (
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// announce announces the first part's batch, and wants this verdict.
func (w *world) announce(attempt string, want ledger.IntentVerdict) ledger.Intent {
	w.Helper()
	intent, err := w.ledger().Jobs.Announce(w.ctx, w.part(1).Part, w.job().Job, attempt)
	w.must("Announce", err)
	equal(w, "the verdict for "+attempt, intent.Verdict, want)
	return intent
}

var jobRestored = []ledgerTest{
	{"a start in a restored ledger waits for Gemini's list: the backup may lack its batch [J3]", func(w *world) {
		w.submitJob(1, job.Options{})
		submitted := w.job().CreatedAt
		w.cut()
		w.store.Advance(100 * day)
		w.restored()
		w.store.Advance(100 * day)
		intent := w.announce("first", ledger.MustWait)
		equal(w, "the list is read back to the job's submission", intent.CreatedAt.Equal(submitted), true)
		equal(w, "it helps to ask again", intent.WaitFor > 0, true)
		w.announce("first", ledger.MustWait)
		w.store.Advance(attemptOver)
		w.unlisted(string(operation.PartKey(nightly, 1)))
		w.announce("again", ledger.MaySubmit)
		w.announce("other", ledger.MustWait)
	}},
	{"a batch that the backup lacks is bound, and not created again [J2]", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		w.restored()
		w.announce("first", ledger.MustWait)
		e := w.lookup(operation.Running, time.Minute)
		e.Name, e.CorrelationID = batchOf(1), string(operation.PartKey(nightly, 1))
		equal(w, "bound", w.ingest(e).Bound, true)
		equal(w, "its batch", w.announce("again", ledger.IsBound).Operation, batchOf(1).Key)
	}},
	{"what the list lacked before a restore is listed once more: a later attempt may be lost [G6]", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		w.announce("first", ledger.MaySubmit)
		w.store.Advance(attemptOver)
		id := string(operation.PartKey(nightly, 1))
		w.unlisted(id)
		w.store.Advance(time.Minute)
		w.restored()
		w.announce("again", ledger.MustWait)
		w.announce("again", ledger.MustWait)
		w.store.Advance(attemptOver)
		w.unlisted(id)
		w.announce("again", ledger.MaySubmit)
	}},
	{"a job that is submitted after a restore may be one that the backup lacks, for 72 hours", func(w *world) {
		w.restored()
		w.store.Advance(ledger.SearchFor - time.Minute)
		w.submitJob(1, job.Options{})
		w.cut()
		w.announce("first", ledger.MustWait)
		withdrawn, err := w.ledger().Jobs.Withdraw(w.ctx, w.part(1).Part, "first")
		if err != nil || withdrawn {
			w.Errorf("its caller withdrew it: %v, %v", withdrawn, err)
		}
		w.delete(ledger.Path(ledger.IntentsCollection + "/jobs:nightly:00001"))
		w.store.Advance(time.Minute)
		w.announce("first", ledger.MaySubmit)
	}},
}
