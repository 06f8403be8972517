package reconcile

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
)

// TestNoteAnswer: a look-up for which nothing was sent, or that was cancelled, says nothing of whether Gemini answers.
func TestNoteAnswer(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string][2]int{
		lookup.Cancelled: {0, 0}, lookup.Unsupported: {0, 0}, lookup.InvalidName: {0, 0}, lookup.Denied: {0, 1},
		lookup.Unavailable: {0, 1}, lookup.NotFound: {1, 0}, "": {1, 0},
	} {
		c := &counter{}
		c.noteAnswer(lookup.Answer{Reason: reason, State: operation.Running})
		if got := [2]int{c.answered, c.unanswered}; got != want {
			t.Errorf("%q: %v, want %v", reason, got, want)
		}
	}
}

// TestOldest: what is due since no known time does not count, and the longest time does [R8].
func TestOldest(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 22, 12, 0, 0, 0, time.UTC)
	c := &counter{}
	for _, since := range []time.Time{{}, start.Add(-time.Minute), start.Add(-time.Hour), {}, start} {
		c.oldest(&c.OldestEffectSeconds, start, since)
	}
	if got := c.OldestEffectSeconds; got != 3600 {
		t.Errorf("R8: due for %d s, want 3600", got)
	}
}
