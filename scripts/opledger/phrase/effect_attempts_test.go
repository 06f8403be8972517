package phrase

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// TestAttempt: how long an effect has been failing, and when it is given up at the earliest
// [S4].
func TestAttempt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.Local)
	ago := func(d time.Duration, times int) *ledger.Failing {
		return &ledger.Failing{Since: now.Add(-d), Last: now, Times: times}
	}
	for _, c := range []struct {
		effect ledger.Effect
		want   string
	}{
		{ledger.Effect{Attempts: 1}, "attempt 1"},
		{ledger.Effect{Attempts: 3, Interrupted: 2}, "attempt 3, 2 ended with their process"},
		{ledger.Effect{Attempts: 7, Failing: ago(2*time.Hour, 7)},
			"attempt 7, failing for 2h00m, given up not before tomorrow 10:00"},
		{ledger.Effect{Attempts: 40, Failing: ago(23*time.Hour, 40)},
			"attempt 40, failing for 23h00m, given up not before today 13:00"},
		{ledger.Effect{Attempts: 6, Failing: ago(0, 6)}, "attempt 6, failing for 0s, given up not before tomorrow 12:00"},
		{ledger.Effect{Attempts: 4, Failing: ago(26*time.Hour, 4)},
			"attempt 4, failing for 1d02h, given up after 6 more failures"},
		{ledger.Effect{Attempts: 9, Failing: ago(26*time.Hour, 9)},
			"attempt 9, failing for 1d02h, given up if it fails once more"},
		{ledger.Effect{Attempts: 30, Failing: ago(26*time.Hour, 30)},
			"attempt 30, failing for 1d02h, given up if it fails once more"},
	} {
		t.Run(c.want, func(t *testing.T) {
			t.Parallel()
			if got := (EffectView{Max: 10, RetryFor: 24 * time.Hour, Now: now}).Attempt(c.effect); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	const long = "attempt 1, failing for 0s, given up not before 2026-12-01 12:00"
	if got := (EffectView{Max: 10, RetryFor: 240 * time.Hour, Now: now}).Attempt(ledger.Effect{Attempts: 1,
		Failing: ago(0, 1)}); got != long {
		t.Errorf("%q, want %q", got, long)
	}
}

// TestAttempts: after a replay the attempts before it are counted, too, where the history tells.
func TestAttempts(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time { return time.Unix(0, 0).Add(time.Duration(minutes) * time.Minute) }
	made := func(minutes ...int) (history []ledger.Attempt) {
		for _, m := range minutes {
			history = append(history, ledger.Attempt{Began: at(m)})
		}
		return history
	}
	replays := []ledger.Replay{{At: at(5)}}
	for want, e := range map[string]ledger.Effect{
		"1 attempt":                             {Attempts: 1, Fence: 1, History: made(1)},
		"1 attempt since the replay, 2 in all":  {Attempts: 1, Fence: 2, History: made(1, 5), Replays: replays},
		"0 attempts since the replay, 1 in all": {Fence: 1, History: made(1), Replays: replays},
		"10 attempts since the replay, 14 in all": {
			Attempts: 10, Fence: 14, History: made(6, 6, 6, 6, 6, 7, 7, 7, 7, 8), Replays: replays,
		},
		"3 attempts": {Attempts: 3, Fence: 9, History: made(6), Replays: replays},
		"2 attempts": {Attempts: 2, Fence: 2, History: made(6, 7), Replays: replays},
	} {
		if got := Attempts(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
