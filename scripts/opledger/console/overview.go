package console

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// overviewPage is what overview.html shows.
type overviewPage struct {
	Tiles     []tile
	Attention []attention // the most urgent first
	Ends      ends
	Partial   bool // there may be more than Attention
}

// A tile is one number, and where to see what it counts.
type tile struct {
	Label, Number, Sub, Link string
	Tone                     phrase.Tone
}

// An attention is something that a person should look at.
type attention struct {
	Tone                phrase.Tone
	Words, Detail, Link string
}

// overviewEnds is how many ends the picture shows at most: twice as many as the overview reads of a
// list, so that fewer are read where each costs.
const overviewEnds = 50

// overviewLinks are the pages of what an overview tells about.
var overviewLinks = map[string]string{
	overview.AboutDead: "/console/effects?show=dead", overview.AboutEffects: "/console/effects",
	overview.AboutPending: "/console/operations?show=pending", overview.AboutQuarantine: "/console/quarantine",
	overview.AboutIntents: "/console/intents", overview.AboutDocuments: "/console/operations",
	overview.AboutConflicts: "/console/operations", overview.AboutPasses: "/console/settings",
	overview.AboutWebhook: "/console/settings",
}

func loadOverview(c *Console, r *request) (any, error) {
	o, err := overview.Read(r, c.ledger, overview.Options{
		Interval: c.options.Interval, Most: c.options.Most, Paused: c.options.Effects.Paused,
	})
	newest, endsErr := c.ledger.Ends(r, ledger.Cursor{}, min(overviewEnds, 2*c.options.Most))
	return overviewPage{Tiles: tiles(o), Attention: c.attention(o), Ends: drawEnds(newest.Items), Partial: o.Partial},
		errors.Join(err, endsErr)
}

func tiles(o overview.Overview) []tile {
	dead := tile{Label: "with a dead effect", Number: o.Dead.String(), Sub: "nothing to decide",
		Link: overviewLinks[overview.AboutDead]}
	if o.Dead.N > 0 {
		dead.Tone, dead.Sub = phrase.Bad, "the newest died "+phrase.Relative(newestDeath(o.Dead.Errors), o.At)
	}
	open := tile{Label: "effects to perform", Number: o.Effects.Open.String(), Sub: "none waits, none runs",
		Link: overviewLinks[overview.AboutEffects]}
	if o.Effects.Open.N > 0 {
		open.Sub = o.Effects.Running.String() + " of them running"
	}
	pending := tile{Label: "pending operations", Number: o.Pending.String(), Sub: "Gemini owes nothing",
		Link: overviewLinks[overview.AboutPending]}
	if o.Pending.Oldest != "" {
		pending.Sub = "of those due next, the oldest for " + phrase.Span(o.At.Sub(o.Pending.SubmittedAt))
	}
	quarantine := tile{Label: "in quarantine", Number: o.Unread.String(), Sub: "every delivery could be read",
		Link: overviewLinks[overview.AboutQuarantine]}
	if o.Unread.N > 0 {
		quarantine.Tone, quarantine.Sub = phrase.Warn, "signed, and could not be read"
	}
	intents := tile{Label: "open intents", Number: o.Intents.String(), Sub: "every submission is known",
		Link: overviewLinks[overview.AboutIntents]}
	if o.Intents.N > 0 {
		intents.Sub = "their operation is not known yet"
	}
	return []tile{dead, open, pending, quarantine, intents}
}

// attention is the overview's problems, and what is on its way to become one.
func (c *Console) attention(o overview.Overview) []attention {
	var all []attention
	if c.options.Effects.Paused {
		all = append(all, attention{
			Tone: phrase.Warn, Words: "Effects are paused: they are planned and not performed.", Link: "/console/settings",
			Detail: "OPLEDGER_EFFECTS_PAUSED is true for this process. Once it is false, what is due is performed.",
		})
	}
	for _, problem := range o.Problems {
		a := attention{Tone: phrase.Warn, Words: problem.Words, Detail: problem.Command, Link: overviewLinks[problem.About]}
		if problem.About == overview.AboutDead {
			a.Tone, a.Detail = phrase.Bad, failureWords(o.Dead.Errors)
		}
		all = append(all, a)
	}
	if o.Effects.Failing > 0 {
		all = append(all, attention{
			Tone: phrase.Warn, Words: phrase.Counted(o.Effects.Failing, "effect") +
				" failed at the last attempt, and will be tried again",
			Detail: failureWords(o.Effects.Errors), Link: overviewLinks[overview.AboutEffects],
		})
	}
	return all
}

// failureWords are errors with how many effects failed with each.
func failureWords(groups []phrase.FailureGroup) string {
	words := make([]string, len(groups))
	for i, g := range groups {
		words[i] = fmt.Sprintf("%d: %s", g.Count, g.Failure)
	}
	return "of those that were read: " + strings.Join(words, " · ")
}

func newestDeath(groups []phrase.FailureGroup) (at time.Time) {
	for _, g := range groups {
		if g.Newest.After(at) {
			at = g.Newest
		}
	}
	return at
}

// ends are the newest ends as a picture: a bar for each, as high as the logarithm of its delay.
type ends struct {
	Bars          []endBar
	Webhook       int // settled by it, of the bars
	Width, Height int
}

// An endBar is one end.
type endBar struct {
	Key     operation.Key
	By      operation.Source
	X, Y, H int
	Words   string
}

// The measures of the picture, in pixels.
const (
	endWidth  = 20
	endHeight = 120
)

// drawEnds draws those of the operations that have ended.
func drawEnds(records []operation.Record) ends {
	settled := slices.DeleteFunc(records, func(rec operation.Record) bool { return !rec.Settled() })
	slices.SortFunc(settled, func(a, b operation.Record) int { return a.SettledAt.Compare(b.SettledAt) })
	all := ends{Width: endWidth * len(settled), Height: endHeight}
	for i, rec := range settled {
		delay, words := time.Duration(0), "the time of its end is not known"
		if !rec.UpdateTime.IsZero() {
			delay = max(0, rec.SettledAt.Sub(rec.UpdateTime))
			words = phrase.Took(delay) + " after its end"
		}
		// A millisecond is 4 pixels high, and a day all of it.
		height := min(endHeight, 4+int(13*math.Log10(1+float64(delay.Milliseconds()))))
		all.Bars = append(all.Bars, endBar{
			Key: rec.Key, By: rec.SettledBy, X: i * endWidth, Y: endHeight - height, H: height,
			Words: fmt.Sprintf("%s %s, settled by %s: %s", rec.Key, rec.State, rec.SettledBy, words),
		})
		if rec.SettledBy == operation.Webhook {
			all.Webhook++
		}
	}
	return all
}
