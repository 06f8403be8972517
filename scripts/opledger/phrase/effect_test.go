package phrase

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// TestLastError: an error of an attempt before the one that succeeded does not make it look failed.
func TestLastError(t *testing.T) {
	t.Parallel()
	if got := LastError(ledger.Effect{State: ledger.EffectDone, LastError: "down"}); got != "-" {
		t.Errorf("done: %q", got)
	}
	if got := LastError(ledger.Effect{State: ledger.EffectPending, LastError: "down"}); got != "down" {
		t.Errorf("pending: %q", got)
	}
}

// TestStandingPaused: an effect that is due waits for the end of a pause, and one that backs off does
// not yet.
func TestStandingPaused(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	v := EffectView{Now: now, Paused: true, Max: 10, RetryFor: time.Hour}
	fresh := ledger.Effect{Name: "publish", State: ledger.EffectPending, ClaimableAt: now}
	failing := fresh
	failing.Attempts, failing.LastError = 1, "down"
	failing.Failing = &ledger.Failing{Since: now.Add(-2 * time.Hour), Times: 10}
	later := failing
	later.ClaimableAt = now.Add(time.Minute)
	const tried = "attempt 1, failing for 2h00m, given up if it fails once more"
	for want, e := range map[string]ledger.Effect{
		"publish waits for the pause to end: effects are paused":                     fresh,
		"publish waits for the pause to end: " + tried + "\n  last error: down":      failing,
		"publish backs off: " + tried + "; the next is in 1m00s\n  last error: down": later,
	} {
		if got := v.Standing(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
