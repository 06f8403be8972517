package phrase

import (
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// Attempt says how many attempts an effect has had; if it fails, for how long, and when it is given
// up: "attempt 7, failing for 2h05m, given up not before tomorrow 14:02".
func (v EffectView) Attempt(e ledger.Effect) string {
	words := fmt.Sprintf("attempt %d", e.Attempts)
	if e.Interrupted > 0 {
		words += fmt.Sprintf(", %d ended with their process", e.Interrupted)
	}
	if e.Failing == nil {
		return words
	}
	words += ", failing for " + Span(v.Now.Sub(e.Failing.Since))
	before, left := v.NotGivenUpBefore(e), v.Max-e.Failing.Times
	switch {
	case before.After(v.Now):
		return words + ", given up not before " + v.soon(before)
	case left > 1:
		return fmt.Sprintf("%s, given up after %d more failures", words, left)
	default:
		return words + ", given up if it fails once more"
	}
}

// Attempts counts an effect's attempts: those since the last replay, and all where the history tells
// which are which.
func Attempts(e ledger.Effect) string {
	words := Counted(e.Attempts, "attempt")
	if len(e.Replays) == 0 {
		return words
	}
	replayed, since := e.Replays[len(e.Replays)-1].At, 0
	for _, a := range e.History {
		if !a.Began.Before(replayed) {
			since++
		}
	}
	if since != e.Attempts || int64(since) == e.Fence { // it does not tell, or there was none before
		return words
	}
	return fmt.Sprintf("%s since the replay, %d in all", words, e.Fence)
}

// NotGivenUpBefore is the earliest time at which an effect is given up, however often it fails;
// zero if it does not fail or is no longer tried.
func (v EffectView) NotGivenUpBefore(e ledger.Effect) time.Time {
	if e.Failing == nil || e.State == ledger.EffectDone || e.State == ledger.EffectDead {
		return time.Time{}
	}
	return e.Failing.Since.Add(v.RetryFor)
}

// soon is a local time, with its date unless it is today or tomorrow.
func (v EffectView) soon(at time.Time) string {
	const date, clock = "2006-01-02", "15:04"
	at, now := at.Local(), v.Now.Local()
	switch at.Format(date) {
	case now.Format(date):
		return "today " + at.Format(clock)
	case now.AddDate(0, 0, 1).Format(date):
		return "tomorrow " + at.Format(clock)
	default:
		return at.Format(date + " " + clock)
	}
}
