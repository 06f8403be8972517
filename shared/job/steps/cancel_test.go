package steps_test

import (
	"net/http"
	"testing"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
)

// TestCancelRetried: Gemini is asked again to cancel where it failed, but not about a batch that has ended.
func TestCancelRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{held: true})
	w.sim.ScriptPrefix("opledger:jobs/", geminisim.Script{Hold: geminisim.StateRunning})
	w.sim.AnswerNext(geminisim.OpCancel, "",
		geminisim.ErrorAnswer(http.StatusInternalServerError, "An internal error has occurred."))
	w.submit(requests(4), job.Options{MaxRequestsPerBatch: 2})
	w.drain()
	w.cancel()
	w.outbox.Drain()
	second := w.part(2)
	if err := w.sim.SetState(string(second.Batch), geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
	w.learn()
	for i, want := range []effect.Outcome{effect.Failed, effect.Finished} {
		m := ledger.Message{Operation: w.part(i + 1).Key, Effect: job.StepCancel}
		if report, err := w.run(t.Context(), w.options, m); err != nil || report.Outcome != want {
			t.Errorf("%s: %s, want %s: %v, %v", m.Operation, report.Outcome, want, report.Cause, err)
		}
	}
	if rec := w.record(second.Batch); rec.CancelRequested != nil {
		t.Errorf("%s is asked to be cancelled although it has ended", rec.Key)
	}
	w.later(interval)
	if e := w.effectOf(first, job.StepCancel); e.State != ledger.EffectDone {
		t.Errorf("it is %s: %s", e.State, e.LastError)
	}
}
