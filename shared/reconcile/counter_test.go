package reconcile

import (
	"testing"
	"time"
)

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
