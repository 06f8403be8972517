package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
)

type onlyLedger struct{ Ledger config.Ledger }

func parseLedger(t *testing.T, environ ...string) config.Ledger {
	t.Helper()
	settings, err := config.Parse[onlyLedger](environ)
	if err != nil {
		t.Fatal(err)
	}
	return settings.Ledger
}

const publishes = "OPLEDGER_EFFECTS=[{name: publish, on: [SUCCEEDED, STUCK], jobKinds: ['n-*'], do: http, " +
	"url: 'https://receiver.example/secret-path'}]"

// TestStoredHoldsNoURL: what the ledger keeps of the settings has the rules and the durations, and
// nothing of what an effect does [L7].
func TestStoredHoldsNoURL(t *testing.T) {
	t.Parallel()
	l := parseLedger(t, publishes, "OPLEDGER_RETENTION=48h", "OPLEDGER_TERMINAL_TRANSITIONS=FAILED:SUCCEEDED",
		"OPLEDGER_RESTORED_AT=2026-11-21T14:00:00Z")
	stored := l.Stored("serve")
	for name, want := range map[string]string{
		"OPLEDGER_RETENTION": "48h0m0s", "OPLEDGER_MAX_ATTEMPTS": "10", "OPLEDGER_LOOKUP_MAX_INTERVAL": "",
		"OPLEDGER_TERMINAL_TRANSITIONS": "FAILED:SUCCEEDED", "OPLEDGER_RESTORED_AT": "2026-11-21T14:00:00Z",
		"OPLEDGER_EFFECTS": "",
	} {
		if got := stored.Values[name]; got != want {
			t.Errorf("%s is stored as %q, want %q", name, got, want)
		}
	}
	if len(stored.Rules) != 1 || stored.Rules[0].Name != "publish" || stored.Rules[0].JobKinds[0] != "n-*" ||
		stored.Rules[0].Alerts[0] != ledger.AlertStuck || stored.StoredBy != "serve" {
		t.Errorf("%+v", stored)
	}
}

// TestWithTakesWhatIsNotSet: a command without settings has those of the ledger, and the rules
// without what they do [L7].
func TestWithTakesWhatIsNotSet(t *testing.T) {
	t.Parallel()
	theirs := parseLedger(t, publishes, "OPLEDGER_RETENTION=48h", "OPLEDGER_INTERVAL=1m", "OPLEDGER_RETRY_FOR=0",
		"OPLEDGER_TERMINAL_TRANSITIONS=SUCCEEDED:FAILED", "OPLEDGER_LOOKUP_MAX_INTERVAL=2m")
	mine := parseLedger(t)
	got, err := mine.With(theirs.Stored("serve"), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, want := got.Settings(), theirs.Settings()
	if s.Retention != want.Retention || s.Interval != want.Interval || s.RetryFor != 0 ||
		s.LookupMaxInterval != 2*time.Minute || !s.Transitions.Allow("SUCCEEDED", "FAILED") {
		t.Errorf("%+v", s)
	}
	if len(s.Rules) != 1 || s.Rules[0].Name != "publish" || !got.Taken() || len(got.Effects) != 0 {
		t.Errorf("rules %+v, effects %+v", s.Rules, got.Effects)
	}
	if again := got.Stored("").Digest; again != theirs.Stored("").Digest {
		t.Error("what was taken is not what was stored")
	}
	if none, err := mine.With(ledger.StoredSettings{}, nil); err != nil || none.Taken() {
		t.Errorf("a ledger without stored settings: %v", err)
	}
}

// TestWithTakesEqualRules: rules that are the default's are taken, too. The ledger does not say what an
// effect does there, and the default of this process may be another thing [L7].
func TestWithTakesEqualRules(t *testing.T) {
	t.Parallel()
	theirs := parseLedger(t, "OPLEDGER_EFFECTS=[{name: log, on: [SUCCEEDED, FAILED, CANCELLED, EXPIRED], do: http, "+
		"url: 'https://receiver.example/'}]")
	got, err := parseLedger(t).With(theirs.Stored("serve"), nil)
	if err != nil || !got.Taken() || len(got.Effects) != 0 || got.Stored("").Digest != theirs.Stored("").Digest {
		t.Errorf("%+v, effects %+v: %v", got.Rules(), got.Effects, err)
	}
	set := []string{"OPLEDGER_EFFECTS=[{name: log, on: [SUCCEEDED, FAILED, CANCELLED, EXPIRED], do: log}]"}
	if got, err := parseLedger(t, set...).With(theirs.Stored("serve"), set); err != nil || got.Taken() {
		t.Errorf("what is set here is not kept: %+v: %v", got.Rules(), err)
	}
}

// TestWithSaysWhatDiffers: each setting that is set and differs is named, with both values; what is
// set is kept.
func TestWithSaysWhatDiffers(t *testing.T) {
	t.Parallel()
	stored := parseLedger(t, publishes, "OPLEDGER_RETENTION=48h")
	for _, c := range []struct {
		set  []string
		want []string
	}{
		{[]string{publishes, "OPLEDGER_RETENTION=2880m"}, nil},
		{[]string{"OPLEDGER_RETENTION=72h"}, []string{"OPLEDGER_RETENTION: it is 72h0m0s here, and 48h0m0s in the ledger"}},
		{[]string{publishes, "OPLEDGER_TERMINAL_TRANSITIONS=FAILED:EXPIRED"}, []string{
			"OPLEDGER_TERMINAL_TRANSITIONS: it is FAILED:EXPIRED here, and not set in the ledger",
		}},
		{[]string{
			"OPLEDGER_EFFECTS=[{name: publish, on: [SUCCEEDED], do: log}, {name: more, on: [FAILED], do: log}]",
		}, []string{
			"OPLEDGER_EFFECTS: publish runs on SUCCEEDED here, and on SUCCEEDED, STUCK of n-* in the ledger",
			"OPLEDGER_EFFECTS: it has more, which the ledger does not have",
		}},
		{[]string{"OPLEDGER_EFFECTS=[{name: log, on: [SUCCEEDED], do: log}]", "OPLEDGER_RETENTION=24h"}, []string{
			"OPLEDGER_RETENTION: it is 24h0m0s here, and 48h0m0s in the ledger",
			"OPLEDGER_EFFECTS: it lacks publish, which the ledger has",
			"OPLEDGER_EFFECTS: it has log, which the ledger does not have",
		}},
	} {
		mine := parseLedger(t, c.set...)
		got, err := mine.With(stored.Stored("serve"), c.set)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if want := strings.Join(c.want, "\n"); said != want {
			t.Errorf("%v: %q, want %q", c.set, said, want)
		}
		if got.Retention != mine.Retention && c.set[0][:18] == "OPLEDGER_RETENTION" {
			t.Errorf("%v: the retention is %v", c.set, got.Retention)
		}
	}
}

// TestWithTheLaterRestore: of two times of a restore the later one counts, wherever it is [S6].
func TestWithTheLaterRestore(t *testing.T) {
	t.Parallel()
	const early, late = "2026-11-21T14:00:00Z", "2026-11-22T14:00:00Z"
	for _, c := range [][2]string{{early, late}, {late, early}, {"", late}, {late, ""}} {
		var theirs, set []string
		if c[0] != "" {
			theirs = []string{"OPLEDGER_RESTORED_AT=" + c[0]}
		}
		if c[1] != "" {
			set = []string{"OPLEDGER_RESTORED_AT=" + c[1]}
		}
		stored := parseLedger(t, theirs...)
		got, err := parseLedger(t, set...).With(stored.Stored("serve"), set)
		if err != nil || got.RestoredAt.Format(time.RFC3339) != late {
			t.Errorf("%v: %v %v", c, got.RestoredAt, err)
		}
	}
}
