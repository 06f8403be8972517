package main

import (
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// attempt says which attempt an effect is at, and of one that fails for how long, and when it is given up: words such as
// "attempt 7, failing for 2h05m, given up not before tomorrow 14:02".
func (t telling) attempt(e ledger.Effect) string {
	words := fmt.Sprintf("attempt %d", e.Attempts)
	if e.Interrupted > 0 {
		words += fmt.Sprintf(", %d ended with their process", e.Interrupted)
	}
	if e.Failing == nil {
		return words
	}
	words += ", failing for " + span(t.now.Sub(e.Failing.Since))
	before, left := t.notGivenUpBefore(e), t.max-e.Failing.Times
	switch {
	case before.After(t.now):
		return words + ", given up not before " + t.soon(before)
	case left > 1:
		return fmt.Sprintf("%s, given up after %d more failures", words, left)
	default:
		return words + ", given up if it fails once more"
	}
}

// notGivenUpBefore is when an effect may be given up at the earliest, however often it fails; the zero Time of one that does
// not fail or is not tried any more.
func (t telling) notGivenUpBefore(e ledger.Effect) time.Time {
	if e.Failing == nil || e.State == ledger.EffectDone || e.State == ledger.EffectDead {
		return time.Time{}
	}
	return e.Failing.Since.Add(t.retryFor)
}

// soon is a time of today or tomorrow in few words, and any other with its date; local.
func (t telling) soon(at time.Time) string {
	const date, clock = "2006-01-02", "15:04"
	at, now := at.Local(), t.now.Local()
	switch at.Format(date) {
	case now.Format(date):
		return "today " + at.Format(clock)
	case now.AddDate(0, 0, 1).Format(date):
		return "tomorrow " + at.Format(clock)
	default:
		return at.Format(date + " " + clock)
	}
}
