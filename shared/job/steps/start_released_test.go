package steps_test

import (
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
)

// TestReleasedLate: a batch that is found after its part was released is cancelled at Gemini, and its requests
// have their answers from the next one [J6].
func TestReleasedLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{sim: geminisim.Config{Speed: 1e6, Faults: geminisim.Faults{CreatesLost: 1}}})
	w.sim.ScriptPrefix("opledger:"+string(first), geminisim.Script{Hold: geminisim.StateRunning})
	w.submit(requests(4), job.Options{})
	w.drain()
	why := ledger.Decision{By: operator, Why: "the list does not show it"}
	if _, err := w.ledger.Jobs.Release(t.Context(), first, why); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if w.part(1).Batch != "" {
			break
		}
		w.later(interval)
	}
	w.settle()
	p, j := w.part(1), w.ended()
	rec, err := w.ledger.Operations.Read(t.Context(), p.Batch)
	if err != nil || p.State != job.Released || rec.CancelRequested == nil || rec.CancelRequested.Why != why.Why {
		t.Errorf("the part is %s, of %q: %+v, %v", p.State, p.Batch, rec.CancelRequested, err)
	}
	if j.Counts.Done != 4 || j.Twins != 1 || w.sim.Sent("k0001") != 2 {
		t.Errorf("%+v, %d twins, sent %d times", j.Counts, j.Twins, w.sim.Sent("k0001"))
	}
}
