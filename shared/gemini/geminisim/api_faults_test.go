package geminisim_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

func TestAPIFaults(t *testing.T) {
	t.Parallel()
	run := func(f geminisim.Faults) (codes map[int]int, states map[string]int, st geminisim.Stats) {
		sim := geminisim.New(geminisim.Config{Seed: 7, Faults: f})
		defer sim.Close()
		sim.Script("b", geminisim.Script{Hold: geminisim.StatePending})
		name := submit(t, sim, "b")
		if err := sim.SetState(name, geminisim.StateRunning); err != nil {
			t.Fatal(err)
		}
		codes, states = map[int]int{}, map[string]int{}
		for range 200 {
			w := call(t, sim, "GET", "/v1beta/"+name, "")
			var op struct{ Metadata struct{ State string } }
			_ = json.Unmarshal(w.Body.Bytes(), &op) // HTML, at times
			codes[w.Code]++
			states[op.Metadata.State]++
			if w.Code == 429 && (w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "RetryInfo")) {
				t.Errorf("429 without Retry-After or RetryInfo: %v %s", w.Header(), w.Body)
			}
		}
		return codes, states, sim.Stats()
	}

	if codes, states, _ := run(geminisim.None()); codes[200] != 200 || states["BATCH_STATE_RUNNING"] != 200 {
		t.Errorf("without faults: %v %v", codes, states)
	}
	if codes, _, st := run(geminisim.Faults{APIErrors: 1}); codes[500] == 0 || codes[502] == 0 || codes[503] == 0 ||
		codes[504] == 0 ||
		st.APIErrors != 200 {
		t.Errorf("errors: %v %+v", codes, st)
	}
	if codes, _, st := run(geminisim.Faults{APIRateLimited: 1}); codes[429] != 200 || st.APIRateLimited != 200 {
		t.Errorf("rate limits: %v %+v", codes, st)
	}
	if _, states, st := run(geminisim.Faults{APIStale: 1}); states["BATCH_STATE_PENDING"] != 200 || st.APIStale != 200 {
		t.Errorf("stale: %v %+v", states, st)
	}
	if codes, states, st := run(geminisim.Faults{APIHollow: 1}); codes[200] != 200 || states[""] != 200 ||
		st.APIHollow != 200 {
		t.Errorf("hollow: %v %v %+v", codes, states, st)
	}
	codes, states, st := run(geminisim.Harsh())
	if st.APIErrors < 5 || st.APIErrors > 40 || st.APIRateLimited < 5 || st.APIStale < 10 || st.APIHollow < 2 ||
		codes[200] < 100 {
		t.Errorf("harsh: %v %v %+v", codes, states, st)
	}
}

func TestCreatesLost(t *testing.T) {
	t.Parallel()
	sim := geminisim.New(geminisim.Config{Faults: geminisim.Faults{CreatesLost: 1}})
	defer sim.Close()
	w := call(t, sim, "POST", "/v1beta/models/m:batchGenerateContent", `{"batch":{"inputConfig":{"fileName":"files/x"}}}`)
	if w.Code != 503 || len(sim.Batches()) != 1 || sim.Stats().APICreatesLost != 1 {
		t.Errorf("%d, %d batches, %+v", w.Code, len(sim.Batches()), sim.Stats())
	}
}
