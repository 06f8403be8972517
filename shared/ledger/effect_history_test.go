package ledger

import "testing"

// TestCauseWithoutAnEntry: where the history does not have the attempt that an effect died of, as of an
// earlier version, its last error is the cause, whatever that says [L5]. One that was reopened has none.
func TestCauseWithoutAnEntry(t *testing.T) {
	t.Parallel()
	died := Effect{
		State: EffectDead, LastError: "failed attempts: 2 within 1m0s; the last error: 503", Fence: 9,
	}
	before := died
	before.History = []Attempt{{Fence: 7, Outcome: AttemptDead, Error: "404, before a replay"}}
	crashed := died
	crashed.History = []Attempt{{Fence: 9, Outcome: AttemptInterrupted}}
	reopened := Effect{State: EffectPending, Fence: 9, History: []Attempt{{Fence: 9, Outcome: AttemptDead, Error: "503"}}}
	for _, e := range []Effect{died, before, crashed, reopened} {
		if cause := e.Cause(); cause != e.LastError {
			t.Errorf("%+v: %q", e.History, cause)
		}
	}
}
