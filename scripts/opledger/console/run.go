package console

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/phrase"
)

// runPath is the page that shows how far an action on many effects is.
const runPath = "/console/run"

// runEvery is how often that page is read again: it reads no document.
const runEvery = 500 * time.Millisecond

// mostRuns is how many such actions are remembered.
const mostRuns = 50

// runs are the actions on many effects that this process began. They go on when the browser leaves.
type runs struct {
	ctx  context.Context
	stop context.CancelFunc
	all  sync.WaitGroup

	mu    sync.Mutex
	known []*groupRun // the oldest first
}

// A groupRun is one of them, which run.html shows. runs.mu guards what changes.
type groupRun struct {
	number   string
	Title    string
	Began    time.Time
	Progress actions.Progress
	Over     bool
	err      error // why it ended before the end
}

func newRuns() *runs {
	r := &runs{}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

func (r *runs) close() {
	r.stop()
	r.all.Wait()
}

// start begins an action on a group, and returns the address of its page.
func (r *runs) start(given *actions.Actions, a action, s subject, d decision, now time.Time) string {
	one := &groupRun{number: d.Question, Title: strings.TrimSuffix(a.title(s), "?"), Began: now}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = append(r.known[max(0, len(r.known)-mostRuns+1):], one)
	r.all.Go(func() {
		err := a.each(r.ctx, given, s, d, func(p actions.Progress) {
			r.mu.Lock()
			defer r.mu.Unlock()
			one.Progress = p
		})
		r.mu.Lock()
		defer r.mu.Unlock()
		one.Over, one.err = true, err
	})
	return link(runPath, theKey, one.number)
}

// find returns the run with that number, as it is now.
func (r *runs) find(number string) (groupRun, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.known {
		if one.number == number {
			return *one, true
		}
	}
	return groupRun{}, false
}

func loadRun(c *Console, r *request) (any, error) {
	one, found := c.runs.find(r.query.Get(theKey))
	if !found {
		return nil, bad("key: this process knows no such run: it was begun by another, or long ago. What it has not " +
			"done is among the receivers")
	}
	return one, nil
}

// PageTitle is what the run does, not its number.
func (g groupRun) PageTitle() string { return g.Title }

// Unknown counts those that were asked for, and whose outcome is not known.
func (g groupRun) Unknown() int { return g.Progress.Sent - g.Progress.Tried }

// Left counts those that were not asked for.
func (g groupRun) Left() int { return g.Progress.Total - g.Progress.Sent }

// Stopped says why the run ended before the end; empty: it did not.
func (g groupRun) Stopped() string {
	if g.err == nil {
		return ""
	}
	return phrase.Sentence(phrase.Readable(g.err.Error()))
}

// State says how far the run is, in a few words.
func (g groupRun) State() string {
	switch p := g.Progress; {
	case !g.Over && p.Total == 0: // it is being read what there is to try
		return "It begins: none was tried yet"
	case !g.Over:
		return fmt.Sprintf("%d of %d were tried", p.Tried, p.Total)
	case g.err != nil:
		return fmt.Sprintf("Stopped after %d of %d", p.Tried, p.Total)
	default:
		return fmt.Sprintf("Ended: %d of %d are done", p.Done, p.Total)
	}
}
