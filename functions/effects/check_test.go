package effects_test

import (
	"testing"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/test/harness"
)

// TestBadSettings: the deployed function reports every problem of its own settings, none of
// others', and does not start.
func TestBadSettings(t *testing.T) {
	t.Parallel()
	harness.BadSettings(t, "Effects", "GOOGLE_CLOUD_PROJECT", "OPLEDGER_EFFECT_ALLOW_PRIVATE", "OPLEDGER_GRACE",
		"OPLEDGER_TOPIC")
}

// TestNotBuilt: without a ledger, a key for the results that an effect fetches, or what a handler
// needs there is no function. It is built again for the next request.
func TestNotBuilt(t *testing.T) {
	effects.Build.Unopened(t)
	effects.Build.Unbuilt(t, "OPLEDGER_GEMINI_API_KEY_SECRET",
		"OPLEDGER_GEMINI_API_KEY_SECRET=projects/p/secrets/none",
		"SECRET_MANAGER_EMULATOR_HOST=127.0.0.1:1",
		"OPLEDGER_EFFECTS=[{name: copy, on: [SUCCEEDED], do: results, bucket: \"gs://my-results\"}]")
	effects.Build.Unbuilt(t, "custom", "OPLEDGER_EFFECTS=[{name: own, on: [SUCCEEDED], do: custom}]")
}
