package register_test

import (
	"testing"

	"github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/test/harness"
)

// TestBadSettings: the target reports all problems of its own settings, and none of other
// functions' settings, and does not start.
func TestBadSettings(t *testing.T) {
	t.Parallel()
	harness.BadSettings(t, "Register", "GOOGLE_CLOUD_PROJECT", "OPLEDGER_GRACE", "OPLEDGER_TOPIC")
}

// TestNotBuilt: without a ledger there is no function. It is built again for the next request.
func TestNotBuilt(t *testing.T) {
	register.Build.Unopened(t)
}
