package console

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// A mark is an event of a timeline in its picture.
type mark struct {
	phrase.Event
	N       int  // from 1; what is yet to come is counted, too
	Future  bool // it is expected then
	Fine    bool // another is within the same second, so that its time needs milliseconds
	X, Y, W int  // W is 0 for a moment
}

// A lane is one line of the picture.
type lane struct {
	Name string
	Y    int
}

// A gap is the time between two moments that the picture has room to name.
type gap struct {
	X     int
	Words string
}

// A timeline is the picture of a story, and the list under it. Its scale is not linear: a gap is as
// wide as the logarithm of its time, so that a day of waiting leaves room for the seconds at its end.
type timeline struct {
	Marks         []mark
	Lanes         []lane
	Gaps          []gap
	Now           int // X of the present; 0: nothing is yet to come
	Width, Height int
}

// timelinePart is the picture and its list, in the address of the page of an operation.
const timelinePart = "timeline"

// The measures of the picture, in pixels.
const (
	laneTop     = 34 // above the first lane are the gaps
	laneHeight  = 36
	laneLabels  = 150
	leastGap    = 24 // keeps two marks of one lane apart
	leastWidth  = 1100
	rightMargin = 30
	namedGap    = 46 // a narrower gap has no room for its words
)

// draw places events, which are in the order of time. The effects' lanes follow in their order.
func draw(events []phrase.Event, effects []ledger.Effect, now time.Time) timeline {
	var t timeline
	for i, e := range events {
		t.Marks = append(t.Marks, mark{Event: e, N: i + 1, Future: e.At.After(now)})
		if i > 0 && events[i-1].At.Truncate(time.Second).Equal(e.At.Truncate(time.Second)) {
			t.Marks[i-1].Fine, t.Marks[i].Fine = true, true
		}
	}
	lanes := []string{phrase.LaneOperation, phrase.LaneDeliveries, phrase.LaneLookUps}
	for _, e := range effects {
		lanes = append(lanes, phrase.Safe(e.Name))
	}
	ys := map[string]int{}
	for _, name := range lanes {
		if slices.ContainsFunc(events, func(e phrase.Event) bool { return e.Lane == name }) && ys[name] == 0 {
			ys[name] = laneTop + laneHeight*len(t.Lanes) + laneHeight/2
			t.Lanes = append(t.Lanes, lane{Name: name, Y: ys[name]})
		}
	}
	t.Height = laneTop + laneHeight*len(t.Lanes) + 8
	places := t.scale(now)
	for i := range t.Marks {
		m := &t.Marks[i]
		m.X, m.Y = places.x(m.At, m.Lane, false), ys[m.Lane]
		if !m.End.IsZero() {
			m.W = max(places.x(m.End, m.Lane, true)-m.X, leastGap-4)
		}
	}
	return t
}

// A place is where a moment of a lane is drawn.
type place struct {
	at   time.Time
	lane string
	end  bool // of a span, which needs no room of its own
	x    float64
}

type places []place

// x takes the place of a moment: of several of one lane at one time, the first that is left.
func (p places) x(at time.Time, lane string, end bool) int {
	for i, place := range p {
		if place.at.Equal(at) && place.lane == lane && place.end == end {
			p[i].lane = taken
			return int(math.Round(place.x))
		}
	}
	return 0
}

// taken is no lane: the place was given to an event.
const taken = ""

// scale places every moment, and names the gaps between them.
func (t *timeline) scale(now time.Time) places {
	var all places
	for _, e := range t.Marks {
		all = append(all, place{at: e.At, lane: e.Lane})
		if !e.End.IsZero() {
			all = append(all, place{at: e.End, lane: e.Lane, end: true})
		}
	}
	const present = "now"
	if slices.ContainsFunc(t.Marks, func(e mark) bool { return e.Future }) {
		all = append(all, place{at: now, lane: present})
	}
	slices.SortStableFunc(all, func(a, b place) int { return a.at.Compare(b.at) })
	x, lastOf := 0.0, map[string]float64{}
	for i := range all {
		if i > 0 {
			x += gapWidth(all[i].at.Sub(all[i-1].at))
		}
		if !all[i].end {
			if last, used := lastOf[all[i].lane]; used && x-last < leastGap {
				x = last + leastGap
			}
			lastOf[all[i].lane] = x
		}
		all[i].x = x
	}
	stretch := 1.0
	if room := float64(leastWidth - laneLabels - rightMargin); x > 0 && x < room {
		stretch = room / x
	}
	for i := range all {
		all[i].x = laneLabels + stretch*all[i].x
		if i > 0 && all[i].x-all[i-1].x >= namedGap {
			if took := all[i].at.Sub(all[i-1].at); took >= time.Millisecond {
				t.Gaps = append(t.Gaps, gap{X: int(all[i].x+all[i-1].x) / 2, Words: phrase.Took(took)})
			}
		}
		if all[i].lane == present {
			t.Now = int(math.Round(all[i].x))
		}
	}
	t.Width = int(laneLabels+stretch*x) + rightMargin
	return all
}

// gapWidth is the logarithm of a gap: a tenth of a second is a few pixels, and a day some 150.
func gapWidth(d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return 9 * math.Log2(1+4*d.Seconds())
}

// Describe is the picture in one sentence, for a reader who does not see it.
func (t timeline) Describe() string {
	if len(t.Marks) == 0 {
		return "Nothing has happened yet."
	}
	first, last := t.Marks[0], t.Marks[len(t.Marks)-1]
	return fmt.Sprintf("%s from %s to %s; the list below has them all.", phrase.Counted(len(t.Marks), "event"),
		phrase.LocalTime(first.At), phrase.LocalTime(last.At))
}
