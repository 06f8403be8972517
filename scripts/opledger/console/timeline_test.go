package console

import (
	"slices"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// TestDraw: marks of one lane keep their distance, spans end where their end is, the present stands
// before what is yet to come, and a day leaves room for seconds.
func TestDraw(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	now := at(25 * time.Hour)
	drawn := draw([]phrase.Event{
		{At: at(0), End: at(24 * time.Hour), Lane: phrase.LaneOperation, Words: "span"},
		{At: at(0), Lane: phrase.LaneOperation, Words: "same time"},
		{At: at(time.Millisecond), Lane: phrase.LaneOperation, Words: "a millisecond later"},
		{At: at(24 * time.Hour), Lane: "b", Words: "late"},
		{At: at(24*time.Hour + time.Second), Lane: "b", Words: "later"},
		{At: at(26 * time.Hour), Lane: phrase.LaneOperation, Words: "expected"},
	}, []ledger.Effect{{Name: "unused"}, {Name: "b"}}, now)
	if len(drawn.Lanes) != 2 || drawn.Lanes[0].Name != phrase.LaneOperation || drawn.Lanes[1].Name != "b" {
		t.Errorf("lanes: %+v", drawn.Lanes)
	}
	find := func(words string) mark {
		return drawn.Marks[slices.IndexFunc(drawn.Marks, func(m mark) bool { return m.Words == words })]
	}
	span, same, soon := find("span"), find("same time"), find("a millisecond later")
	late, later, expected := find("late"), find("later"), find("expected")
	if same.X-span.X < leastGap || soon.X-same.X < leastGap || later.X-late.X < leastGap {
		t.Errorf("too near: %+v", drawn.Marks)
	}
	if span.X+span.W != late.X {
		t.Errorf("the span ends at %d, and its end is at %d", span.X+span.W, late.X)
	}
	if later.X >= drawn.Now || drawn.Now >= expected.X || expected.X > drawn.Width {
		t.Errorf("now is at %d, between %d and %d of %d", drawn.Now, later.X, expected.X, drawn.Width)
	}
	if !span.Fine || !soon.Fine || late.Fine || expected.Fine {
		t.Errorf("milliseconds belong to steps within one second: %+v", drawn.Marks)
	}
	if slices.ContainsFunc(drawn.Gaps, func(g gap) bool { return g.Words == "0ms" }) {
		t.Errorf("gaps: %+v", drawn.Gaps)
	}
	if drawn.Width > 2*leastWidth {
		t.Errorf("%d pixels wide", drawn.Width)
	}
	if !slices.ContainsFunc(drawn.Gaps, func(g gap) bool { return g.Words == "23h59m" }) {
		t.Errorf("gaps: %+v", drawn.Gaps)
	}
	if empty := draw(nil, nil, now); empty.Describe() == "" || len(empty.Marks) > 0 {
		t.Errorf("%+v", empty)
	}
}
