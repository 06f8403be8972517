package ledgertest

import (
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

var jobAdvance = []ledgerTest{
	{"what expires of the parts of a pending job plans nothing later, and the rest stays [L3]", func(w *world) {
		w.submitJob(2, job.Options{})
		w.cut()
		w.startPart(1)
		w.endBatch(1)
		w.collect(1)
		w.advance()
		w.store.Advance(3 * w.settings.Retention)
		first := operation.PartKey(nightly, 1)
		for _, path := range []ledger.Path{ // as the store does with what has expired
			ledger.EffectPath(first, job.StepStart), ledger.EffectPath(batchOf(1).Key, job.StepCollect),
			ledger.OperationPath(batchOf(1).Key), ledger.Path(ledger.IntentsCollection + "/jobs:nightly:00001"),
		} {
			w.delete(path)
		}
		for _, at := range []time.Time{w.job().ExpireAt, w.part(1).ExpireAt, w.part(2).ExpireAt} {
			equal(w, "expires", at, time.Time{})
		}
		for step, key := range map[string]operation.Key{job.StepStart: first, job.StepCollect: batchOf(1).Key} {
			grant, err := w.ledger().Effects.Claim(w.ctx, key, step)
			if err != nil || grant.Verdict != ledger.Absent {
				w.Errorf("a late message of %s: %s, %v", step, grant.Verdict, err)
			}
			_, err = w.replayStep(key, step, "")
			w.refusedAs("an operator's message", err, ledger.ErrReplay)
		}
		equal(w, "an event of the batch plans", w.endBatch(1).Planned, 0)
		equal(w, "steps", w.advance().Steps, 0)
		equal(w, "the part", w.part(1).State, job.Consumed)
		w.startPart(2)
	}},
}
