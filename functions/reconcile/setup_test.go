package reconcile_test

import (
	"testing"

	reconcilefn "github.com/opledger/opledger/functions/reconcile"
	"github.com/opledger/opledger/test/harness"
)

// TestBadSettings: the target reports all problems of its own settings, and none of other
// functions' settings, and does not start.
func TestBadSettings(t *testing.T) {
	t.Parallel()
	harness.BadSettings(t, "Reconcile", "GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT", "OPLEDGER_GRACE", "OPLEDGER_TOPIC")
}

// TestNotBuilt: without a ledger, or a key for Gemini, there is no function. It is built again for the
// next request.
func TestNotBuilt(t *testing.T) {
	reconcilefn.Build.Unopened(t, "GEMINI_API_KEY=k")
	reconcilefn.Build.Unbuilt(t, "OPLEDGER_GEMINI_API_KEY_SECRET",
		"OPLEDGER_GEMINI_API_KEY_SECRET=projects/p/secrets/none",
		"SECRET_MANAGER_EMULATOR_HOST=127.0.0.1:1")
}
