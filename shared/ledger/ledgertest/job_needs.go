package ledgertest

import (
	"errors"
	"fmt"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// refusedAs checks that a call is refused with this error.
func (w *world) refusedAs(what string, err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Errorf("%s: %v, want %v", what, err, want)
	}
}

// die makes a step DEAD.
func (w *world) die(key operation.Key, step string) {
	w.Helper()
	w.must("MarkDead", w.ledger().Effects.MarkDead(w.ctx, w.step(key, step), errors.New("it fails")))
}

// waiveStep waives a step.
func (w *world) waiveStep(key operation.Key, step string) error {
	return second(w.ledger().Effects.Waive(w.ctx, key, step, cancelling))
}

// replayStep replays a step.
func (w *world) replayStep(key operation.Key, step, rerun string) (ledger.Replayed, error) {
	return w.ledger().Effects.Replay(w.ctx, ledger.Message{
		Operation: key, Effect: step, ID: fmt.Sprint("replay-", step, rerun), By: "ops@example.com", Rerun: rerun,
	})
}

func (w *world) forgetIntent(id string) error {
	w.Helper()
	intent, err := w.ledger().Intents.Read(w.ctx, id)
	w.must("Read", err)
	return w.ledger().Intents.Forget(w.ctx, intent)
}

// refusedOfBatch checks that the batch of the first part cannot be taken from its job.
func (w *world) refusedOfBatch() {
	w.Helper()
	batch, id := batchOf(1).Key, string(operation.PartKey(nightly, 1))
	l := w.ledger()
	w.refusedAs("Abandon", second(l.Operations.Abandon(w.ctx, batch, cancelling)), ledger.ErrPart)
	w.refusedAs("Forget", second(l.Operations.Forget(w.ctx, batch)), ledger.ErrPart)
	w.refusedAs("Forget of the steps", second(l.Operations.Forget(w.ctx, operation.Key(id))), ledger.ErrPart)
	w.refusedAs("Intents.Forget", w.forgetIntent(id), ledger.ErrPart)
}

var jobNeeds = []ledgerTest{
	{"a dead step is replayed, and not waived: the job cannot end without it", func(w *world) {
		w.submitJob(1, job.Options{})
		w.die(nightly, job.StepSplit)
		w.refusedAs("Waive", w.waiveStep(nightly, job.StepSplit), ledger.ErrStep)
		replayed, err := w.replayStep(nightly, job.StepSplit, "")
		if err != nil || replayed.Outcome != ledger.Reopened {
			w.Errorf("replayed: %+v, %v", replayed, err)
		}
		w.cut()
		first := operation.PartKey(nightly, 1)
		w.die(first, job.StepStart)
		w.refusedAs("Waive", w.waiveStep(first, job.StepStart), ledger.ErrStep)
		_, err = w.replayStep(first, job.StepStart, "")
		w.must("Replay", err)
		w.startPart(1)
		w.endBatch(1)
		w.die(batchOf(1).Key, job.StepCollect)
		w.refusedAs("Waive", w.waiveStep(batchOf(1).Key, job.StepCollect), ledger.ErrStep)
		_, err = w.replayStep(batchOf(1).Key, job.StepCollect, "")
		w.must("Replay", err)
		w.collect(1)
		equal(w, "the part", w.part(1).State, job.Collected)
	}},
	{"a step of a part that was released is waived like any effect", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		w.startPart(1)
		first := operation.PartKey(nightly, 1)
		_, err := w.ledger().Jobs.Release(w.ctx, first, cancelling)
		w.must("Release", err)
		w.die(first, job.StepCancel)
		w.must("Waive", w.waiveStep(first, job.StepCancel))
		w.must("again", w.waiveStep(first, job.StepCancel))
	}},
	{"a step has no reruns [G5]", func(w *world) {
		w.submitJob(1, job.Options{})
		_, err := w.replayStep(nightly, job.StepSplit, "again")
		w.refusedAs("a rerun", err, ledger.ErrReplay)
		w.refusedAs("a rerun", err, ledger.ErrStep)
	}},
	{"the batch of a part runs no user's effect, on no operator's message [J8]", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		w.startPart(1)
		w.endBatch(1)
		_, err := w.replayStep(batchOf(1).Key, publish, "")
		w.refusedAs("Replay", err, ledger.ErrReplay)
	}},
	{"the batch of a part, its intent and its steps stay as long as the job needs them", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		w.startPart(1)
		w.refusedOfBatch()
		w.endBatch(1)
		w.collect(1)
		w.refusedAs("Forget", second(w.ledger().Operations.Forget(w.ctx, batchOf(1).Key)), ledger.ErrPart)
		w.advance()
		w.must("Forget", second(w.ledger().Operations.Forget(w.ctx, batchOf(1).Key)))
	}},
	{"the intent of a part that may have a batch is neither forgotten nor given up [J3]", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		_, err := w.ledger().Jobs.Announce(w.ctx, w.part(1).Part, w.job().Job, "attempt")
		w.must("Announce", err)
		id := string(operation.PartKey(nightly, 1))
		w.refusedAs("Forget", w.forgetIntent(id), ledger.ErrPart)
		w.refusedAs("AbandonBy", second(w.ledger().Intents.AbandonBy(w.ctx, id, cancelling)), ledger.ErrPart)
	}},
	{"the batch of a part that was released is abandoned like any [R4]", func(w *world) {
		w.submitJob(1, job.Options{})
		w.cut()
		w.startPart(1)
		_, err := w.ledger().Jobs.Release(w.ctx, operation.PartKey(nightly, 1), cancelling)
		w.must("Release", err)
		w.must("Abandon", second(w.ledger().Operations.Abandon(w.ctx, batchOf(1).Key, cancelling)))
	}},
	{"a job is cancelled, not abandoned", func(w *world) {
		w.submitJob(1, job.Options{})
		w.refusedAs("Abandon", second(w.ledger().Operations.Abandon(w.ctx, nightly, cancelling)), ledger.ErrJobPending)
	}},
}
