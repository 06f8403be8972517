package reconcile_test

import (
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// TestBadSettings: the target reports all problems of its own settings, and none of other
// functions' settings, and does not start.
func TestBadSettings(t *testing.T) {
	t.Parallel()
	harness.BadSettings(t, "Reconcile", "GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT", "OPLEDGER_GRACE", "OPLEDGER_TOPIC")
}
