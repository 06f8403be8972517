package phrase

import (
	"testing"

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
