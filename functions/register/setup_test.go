package register_test

import (
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// TestBadSettings: the function that runs says all that is wrong with its own settings, nothing about others', and does not
// start.
func TestBadSettings(t *testing.T) {
	t.Parallel()
	harness.BadSettings(t, "Register", "GOOGLE_CLOUD_PROJECT", "OPLEDGER_GRACE", "OPLEDGER_TOPIC")
}
