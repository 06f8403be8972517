package config_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/config"
)

// TestUndecodableValues: a value of the wrong form is repeated with how to write it, and without
// Go's words.
func TestUndecodableValues(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		"OPLEDGER_GRACE=soon":    `OPLEDGER_GRACE: "soon" is not a duration; write 90s, 5m or 6h`,
		"OPLEDGER_ALERT_EVERY=5": `OPLEDGER_ALERT_EVERY: "5" is not a duration; write 90s, 5m or 6h`,
		"OPLEDGER_RETENTION=14d": `OPLEDGER_RETENTION: "14d" is not a duration; a day is 24h: write 336h`,
		"OPLEDGER_RETENTION=23h": `OPLEDGER_RETENTION: it must be at least 24h, because Gemini ` +
			`redelivers for that long`,
		"OPLEDGER_INTERVAL=0s": `OPLEDGER_INTERVAL: it must be a duration longer than zero, ` +
			`such as 90s or 5m`,
		"OPLEDGER_TOLERANCE=5 m": `OPLEDGER_TOLERANCE: "5 m" is not a duration; write 90s, 5m or 6h`,
		"OPLEDGER_EFFECT_ALLOW_PRIVATE=yes": `OPLEDGER_EFFECT_ALLOW_PRIVATE: "yes" is neither true nor ` +
			`false; write one of them`,
		"OPLEDGER_RESTORED_AT=2026-11-21": `OPLEDGER_RESTORED_AT: "2026-11-21" is not a time; write it as ` +
			`2026-11-21T14:00:00Z`,
		"OPLEDGER_MAX_ATTEMPTS=ten": `OPLEDGER_MAX_ATTEMPTS: "ten" is not a whole number; write it ` +
			`in digits, such as 10`,
		"OPLEDGER_MAX_ATTEMPTS=1.5": `OPLEDGER_MAX_ATTEMPTS: "1.5" is not a whole number; write it ` +
			`in digits, such as 10`,
		"OPLEDGER_MAX_ATTEMPTS=99999999999999999999": `OPLEDGER_MAX_ATTEMPTS: "99999999999999999999" is too large or ` +
			`too small a number`,
		"PORT=" + strings.Repeat("x", 90): `PORT: "` + strings.Repeat("x", 77) +
			`…" is not a whole number; write it in digits, such as 10`,
		"OPLEDGER_EFFECTS=@/nowhere/effects.yaml": `OPLEDGER_EFFECTS: the file cannot be read: open ` +
			`/nowhere/effects.yaml: no such file or directory`,
		"OPLEDGER_TERMINAL_TRANSITIONS=SUCCEEDED:EXPIRING": `OPLEDGER_TERMINAL_TRANSITIONS: "SUCCEEDED:EXPIRING" must ` +
			`join two of SUCCEEDED, FAILED, CANCELLED, EXPIRED`,
	} {
		_, err := config.Parse[everything]([]string{"GEMINI_API_KEY=k", set})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", set, err, want)
		}
	}
}
