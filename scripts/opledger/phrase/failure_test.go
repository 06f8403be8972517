package phrase

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// dead returns an effect that died then, of an attempt with this error, after what the ledger says of the
// attempts before.
func dead(before, cause string, at time.Time) ledger.Effect {
	died := ledger.Attempt{Fence: 7, Outcome: ledger.AttemptDead, Error: cause}
	return ledger.Effect{
		State: ledger.EffectDead, LastError: before + cause, DiedAt: at, Fence: 7, History: []ledger.Attempt{died},
	}
}

// TestGroupFailures: effects that died of the same are one group, however often each had failed.
func TestGroupFailures(t *testing.T) {
	t.Parallel()
	newest := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	effects := []ledger.Effect{
		dead("", "it said no", time.Time{}),
		dead("failed attempts: 31 within 24h40m11s; the last error: ", "it is down", newest),
		dead("failed attempts: 10 within 24h0m0s; the last error: ", "it is down", newest.Add(-time.Hour)),
		dead("results lost: Gemini has said so for 24h0m3s; the last error: ", "404", newest),
		dead("results lost: Gemini has said so for 24h0m9s; the last error: ", "404", newest),
		dead("", "failed attempts: 2 at the printer; the last error: it is down", newest), // a receiver's own words
	}
	want := []FailureGroup{
		{Failure: "404", Count: 2, Newest: newest, Contains: "404"},
		{Failure: "it is down", Count: 2, Newest: newest, Contains: "it is down"},
		{
			Failure: "failed attempts: 2 at the printer; the last error: it is down", Count: 1, Newest: newest,
			Contains: "failed attempts: 2 at the printer; the last error: it is down",
		},
		{Failure: "it said no", Count: 1, Contains: "it said no"},
	}
	if got := GroupFailures(effects); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestContained: what a group is found by is in the error of each of its effects, whatever is in it.
func TestContained(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"it said no", "line one\nline two", "a\x1b[2J", strings.Repeat("ä", 300), "failed attempts: 3 within 1m; the last " +
			"error: 500", "\xff", "",
	} {
		e := dead("", text, time.Time{})
		if got := GroupFailures([]ledger.Effect{e})[0].Contains; !strings.Contains(text, got) || len(got) > 160 {
			t.Errorf("%q is not in %q", got, text)
		}
	}
}
