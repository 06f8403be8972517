package ledger

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
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

// TestNextLookUp: only a marked operation whose last look-up was conclusive is left alone for longer than
// an interval, and never past its next alert [R6].
func TestNextLookUp(t *testing.T) {
	t.Parallel()
	l, start := newLedger(t), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	waiting := operation.Record{State: operation.RequiresAction, SubmittedAt: start, CreatedAt: start}
	odd, stuck := waiting, waiting
	odd.Condition = "odd"
	stuck.AlertedAt = start.Add(2*l.settings.Interval - l.settings.AlertEvery)
	for _, test := range []struct {
		what      string
		due       DueOperation
		intervals int
	}{
		{"not marked", DueOperation{Record: waiting}, 1},
		{"marked", DueOperation{Record: waiting, marked: true}, waitingFactor},
		{"with a condition", DueOperation{Record: odd, marked: true}, 1},
		{"alerted before", DueOperation{Record: stuck, marked: true}, 2},
	} {
		in := l.nextLookUp(test.due, start).Sub(start)
		most := time.Duration(test.intervals) * l.settings.Interval
		if in > most || in < most-l.settings.Interval/5-time.Microsecond {
			t.Errorf("%s: due in %v, want about %v", test.what, in, most)
		}
	}
}
