package geminisim_test

import (
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// TestScriptPrefix: a label's own script comes first, then that of the longest prefix.
func TestScriptPrefix(t *testing.T) {
	t.Parallel()
	sim, _, _ := serve(t, geminisim.Config{})
	sim.Script("jobs/nightly/3", geminisim.Script{Hold: geminisim.StateExpired})
	sim.ScriptPrefix("jobs/", geminisim.Script{Hold: geminisim.StateRunning})
	sim.ScriptPrefix("jobs/nightly/", geminisim.Script{Hold: geminisim.StateFailed})
	for label, want := range map[string]geminisim.State{
		"jobs/nightly/3": geminisim.StateExpired, "jobs/nightly/4": geminisim.StateFailed,
		"jobs/nightly/": geminisim.StateFailed, "jobs/nightly": geminisim.StateRunning,
		"jobs": geminisim.StatePending, "": geminisim.StatePending,
	} {
		submit(t, sim, label)
		batches := sim.Batches()
		if got := batches[len(batches)-1].State; got != want {
			t.Errorf("%q is %s, want %s", label, got, want)
		}
	}
}
