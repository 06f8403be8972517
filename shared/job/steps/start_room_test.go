package steps_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
)

// TestBesideOthers: what others have unfinished at Gemini leaves a job less room, as passes list it.
func TestBesideOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{held: true})
	w.sim.ScriptPrefix("opledger:", geminisim.Script{Hold: geminisim.StateRunning})
	w.createOthers(job.MostBatches, 1)
	others := w.sim.Batches()
	w.submit(requests(6), job.Options{MaxRequestsPerBatch: 2, MaxBatches: 1})
	w.drain()
	w.later(interval)
	end := func(batch string) {
		t.Helper()
		if err := w.sim.SetState(batch, geminisim.StateSucceeded); err != nil {
			t.Fatal(err)
		}
	}
	end(string(w.part(1).Batch))
	w.learn()
	w.drain()
	if p := w.part(2); p.State != job.Planned {
		t.Errorf("with %d batches of others the second part is %s", len(others), p.State)
	}
	end(others[0].Name)
	w.later(interval)
	if p := w.part(2); p.State != job.Started {
		t.Errorf("with one less of them it is %s", p.State)
	}
}

// createOthers creates batches at Gemini of so many requests that are of no job, and returns the last.
func (w *world) createOthers(n, of int) (batch string) {
	w.Helper()
	input := strings.Join(requests(of), "\n") + "\n"
	file, err := w.options.Batches.Upload(w.Context(), "other", int64(len(input)), strings.NewReader(input))
	if err != nil {
		w.Fatal(err)
	}
	for range n {
		r := batches.Request{Model: flash, File: file.Name, CorrelationID: "another's"}
		name, err := w.options.Batches.Create(w.Context(), r)
		if err != nil {
			w.Fatal(err)
		}
		batch = name.Resource
	}
	return batch
}

// running returns what counts as running.
func (w *world) running() ledger.RunningBatches {
	w.Helper()
	running, err := w.ledger.Jobs.Running(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return running
}
