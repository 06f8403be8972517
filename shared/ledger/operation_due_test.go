package ledger

import (
	"testing"
	"time"
)

// TestNext: what a pass processed is due again before the next pass, and not at once [R6].
func TestNext(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 12, 0, 0, 123456789, time.UTC)
	for _, jitter := range []float64{0, 0.5, 0.999} {
		l, err := New(nil, DefaultSettings(), Options{Jitter: func() float64 { return jitter }})
		if err != nil {
			t.Fatal(err)
		}
		for intervals := 1; intervals <= waitingFactor; intervals += waitingFactor - 1 {
			in := l.next(start, intervals).Sub(start)
			whole := time.Duration(intervals) * l.settings.Interval
			if in > whole-l.settings.Interval/10 || in < whole-l.settings.Interval/5-time.Microsecond {
				t.Errorf("%d intervals with jitter %v: due in %v", intervals, jitter, in)
			}
		}
	}
}
