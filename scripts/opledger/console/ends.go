package console

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/operation"
)

// ends are the newest completions as a picture: a bar for each, as high as the logarithm of its
// delay.
type ends struct {
	Bars          []endBar
	Lines         []endLine
	Webhook       int // settled by it, of the bars
	Plot          int // the width without the names of the lines
	Width, Height int
}

// An endBar is one completion.
type endBar struct {
	Key     operation.Key
	By      operation.Source
	X, Y, H int
	What    string // became of it
	Words   string // the same with its name
}

// Newest are the bars, the newest first.
func (e ends) Newest() []endBar {
	bars := slices.Clone(e.Bars)
	slices.Reverse(bars)
	return bars
}

// An endLine is a delay that the picture names.
type endLine struct {
	Y     int
	Words string
}

// The measures of the picture, in pixels.
const (
	endWidth  = 22
	endHeight = 150
	endRight  = 44 // for the names of the lines
	endTop    = 12
	leastEnds = 50 // the picture has room for so many at least
)

// drawEnds draws completions, the newest at the right.
func drawEnds(newestFirst []operation.Record) ends {
	settled := slices.Clone(newestFirst)
	slices.Reverse(settled)
	left := endWidth * max(0, leastEnds-len(settled))
	all := ends{Plot: left + endWidth*len(settled), Height: endTop + endHeight}
	all.Width = all.Plot + endRight
	for _, line := range []struct {
		delay time.Duration
		words string
	}{{time.Second, "1 s"}, {time.Minute, "1 min"}, {time.Hour, "1 h"}, {24 * time.Hour, "1 d"}} {
		all.Lines = append(all.Lines, endLine{Y: all.Height - delayHeight(line.delay), Words: line.words})
	}
	for i, rec := range settled {
		delay, words := time.Duration(0), "the time of its completion is not known"
		if !rec.UpdateTime.IsZero() {
			delay = max(0, rec.SettledAt.Sub(rec.UpdateTime))
			words = phrase.Took(delay) + " after it ended"
		}
		height := delayHeight(delay)
		what := fmt.Sprintf("%s, settled by %s: %s", rec.State, rec.SettledBy, words)
		all.Bars = append(all.Bars, endBar{
			Key: rec.Key, By: rec.SettledBy, X: left + i*endWidth, Y: all.Height - height, H: height,
			What: what, Words: string(rec.Key) + " " + what,
		})
		if rec.SettledBy == operation.Webhook {
			all.Webhook++
		}
	}
	return all
}

// delayHeight is the height of a delay: a millisecond is some pixels high, and two days all of it.
func delayHeight(d time.Duration) int {
	const most = 48 * time.Hour
	part := math.Log10(1+float64(d.Milliseconds())) / math.Log10(1+float64(most.Milliseconds()))
	return min(endHeight, 4+int(part*(endHeight-4)))
}
