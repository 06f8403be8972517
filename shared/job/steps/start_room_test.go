package steps_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
)

// TestBesideOthers: what others have unfinished at Gemini leaves a job less room, as passes list it.
func TestBesideOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{held: true})
	w.sim.ScriptPrefix("opledger:", geminisim.Script{Hold: geminisim.StateRunning})
	const input = `{"key":"a","request":{}}` + "\n"
	file, err := w.options.Batches.Upload(t.Context(), "other", int64(len(input)), strings.NewReader(input))
	if err != nil {
		t.Fatal(err)
	}
	for range job.MostBatches {
		r := batches.Request{Model: "gemini-3.5-flash", File: file.Name, CorrelationID: "another's"}
		if _, err := w.options.Batches.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
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
