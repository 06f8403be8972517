package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
)

// TestPaused: a job that is paused starts nothing, also of what was about to start, collects what runs, and goes
// on once it is resumed [J11].
func TestPaused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{held: true})
	w.sim.ScriptPrefix("opledger:", geminisim.Script{Hold: geminisim.StateRunning})
	w.submit(requests(8), job.Options{MaxRequestsPerBatch: 2, MaxBatches: 2})
	w.sim.AnswerNext(geminisim.OpCreate, "", geminisim.ErrorAnswer(429, "slow down"))
	w.drain() // the first part is started, and the second is put off, or the other way round
	started := len(w.sim.Batches())
	decision := ledger.Decision{By: "ada", Why: "a test"}
	if _, err := w.ledger.Jobs.Pause(t.Context(), nightly, decision); err != nil || started != 1 {
		t.Fatalf("%d batches, %v", started, err)
	}
	for range 3 {
		w.later(interval)
	}
	if err := w.sim.SetState(w.sim.Batches()[0].Name, geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
	w.learn()
	w.later(interval)
	var waits []job.Wait
	for _, p := range w.parts() {
		if p.State == job.Starting {
			waits = append(waits, p.Waits)
		}
	}
	if j := w.job(); len(w.sim.Batches()) != 1 || j.Batches != 1 || len(waits) != 1 || waits[0] != job.WaitsForResume {
		t.Errorf("%d batches, %d collected, %v", len(w.sim.Batches()), j.Batches, waits)
	}
	for range 30 {
		w.later(time.Hour)
	}
	for _, line := range w.log.Drain(t) {
		if line["event"] == "alert" {
			t.Errorf("%v", line)
		}
	}
	if err := w.ledger.Jobs.Resume(t.Context(), nightly, decision); err != nil {
		t.Fatal(err)
	}
	w.later(interval)
	if j := w.job(); j.Hold != nil || j.Resumed.By != "ada" || len(w.sim.Batches()) != 3 {
		t.Errorf("%+v, %d batches", j, len(w.sim.Batches()))
	}
	for _, b := range w.sim.Batches() {
		if b.State != geminisim.StateSucceeded {
			_ = w.sim.SetState(b.Name, geminisim.StateSucceeded) // the next ones end by themselves
		}
	}
}

// A resuming store has someone resume the job while a worker reads an intent.
type resuming struct {
	ledger.Store
	w *world
}

func (s resuming) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	if paths[0].Collection() == ledger.IntentsCollection {
		if err := s.w.ledger.Jobs.Resume(ctx, nightly, stuck); err != nil {
			s.w.Error(err)
		}
	}
	return s.Store.Get(ctx, paths...)
}

// TestResumedMeanwhile: an attempt that began while the job was held has uploaded nothing, and creates nothing; the
// next one does both.
func TestResumedMeanwhile(t *testing.T) {
	t.Parallel()
	var w *world
	w = newWorld(t, setting{worker: func(s ledger.Store) ledger.Store { return resuming{s, w} }})
	w.sim.AnswerNext(geminisim.OpUpload, "", geminisim.ErrorAnswer(429, "slow down"))
	w.submit(requests(4), job.Options{})
	w.begin() // the workers read the ledger of this world
	w.drain()
	if _, err := w.ledger.Jobs.Pause(t.Context(), nightly, stuck); err != nil || len(w.part(1).Files) > 0 {
		t.Fatalf("%+v, %v", w.part(1), err)
	}
	w.later(interval)
	if j := w.job(); j.Hold != nil || len(w.sim.Batches()) > 0 {
		t.Fatalf("%+v, %d batches", j, len(w.sim.Batches()))
	}
	w.settle()
	if j := w.ended(); j.Counts.Done != 4 {
		t.Errorf("%+v", j)
	}
}
