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

// A groupRun is one of them. runs.mu guards what changes.
type groupRun struct {
	number, title string
	began         time.Time
	progress      actions.Progress
	over          bool
	err           error
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
	one := &groupRun{number: d.Question, title: strings.TrimSuffix(a.title(s), "?"), began: now}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = append(r.known[max(0, len(r.known)-mostRuns+1):], one)
	r.all.Go(func() {
		err := a.each(r.ctx, given, s, d, func(p actions.Progress) {
			r.mu.Lock()
			defer r.mu.Unlock()
			one.progress = p
		})
		r.mu.Lock()
		defer r.mu.Unlock()
		one.over, one.err = true, err
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

// runPage is what run.html shows.
type runPage struct {
	Title    string
	Began    time.Time
	Progress actions.Progress
	Unknown  int // that were asked for, and whose outcome is not known
	Left     int
	Over     bool
	Error    string // why it ended before the end
}

func loadRun(c *Console, r *request) (any, error) {
	one, found := c.runs.find(r.query.Get(theKey))
	if !found {
		return nil, bad("key: this process knows no such run: it was begun by another, or long ago. What it has not " +
			"done is among the receivers")
	}
	p := runPage{Title: one.title, Began: one.began, Progress: one.progress, Over: one.over}
	p.Unknown, p.Left = p.Progress.Sent-p.Progress.Tried, p.Progress.Total-p.Progress.Sent
	if one.err != nil {
		p.Error = phrase.Sentence(phrase.Readable(one.err.Error()))
	}
	return p, nil
}

// PageTitle is what the run does, not its number.
func (p runPage) PageTitle() string { return p.Title }

// State says how far the run is, in a few words.
func (p runPage) State() string {
	switch {
	case !p.Over && p.Progress.Total == 0: // it is being read what there is to try
		return "It begins: none was tried yet"
	case !p.Over:
		return fmt.Sprintf("%d of %d were tried", p.Progress.Tried, p.Progress.Total)
	case p.Error != "":
		return fmt.Sprintf("Stopped after %d of %d", p.Progress.Tried, p.Progress.Total)
	default:
		return fmt.Sprintf("Ended: %d of %d are done", p.Progress.Done, p.Progress.Total)
	}
}
