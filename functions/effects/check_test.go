package effects_test

import (
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// TestBadSettings: the deployed function reports every problem of its own settings, none of
// others', and does not start.
func TestBadSettings(t *testing.T) {
	t.Parallel()
	harness.BadSettings(t, "Effects", "GOOGLE_CLOUD_PROJECT", "OPLEDGER_EFFECT_ALLOW_PRIVATE", "OPLEDGER_GRACE",
		"OPLEDGER_TOPIC")
}
