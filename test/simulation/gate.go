package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// A gate is where every call that leaves a process waits until it is chosen. One call goes through at
// a time. The next is chosen when every goroutine of the bubble waits, so that nothing but the
// choices decides what happens.
type gate struct {
	chooser Chooser
	choices []int // that were made
	calm    bool  // no more choices: everything works, in its order
	trace   *trace
	limit   int // of steps: more is a world that does not come to rest

	steps int     // calls and events so far
	items []*item // what can happen, in its order

	mu      sync.Mutex
	arrived []*item // since the last step
	wake    chan struct{}
	working int // goroutines of the world
	// broken off: the world did not come to rest, and no call leaves a process any more.
	brokenOff bool
}

// An item is something that can happen: a request arrives, an answer comes back.
type item struct {
	at    time.Time // not before
	step  int       // after which it appeared
	label func() string
	run   func()
	// of is the process that it comes from, or goes to; nil where it is none's.
	of *process
}

func newGate(chooser Chooser) *gate {
	return &gate{chooser: chooser, wake: make(chan struct{}, 1), limit: maxSteps}
}

// maxSteps bounds a schedule, far above what any needs.
const maxSteps = 20_000

func (g *gate) choose(about Question, n int) int {
	if g.calm || n < 2 {
		return 0
	}
	choice := g.chooser.Choose(about, n)
	g.choices = append(g.choices, choice)
	return choice
}

// latency is the time that each step takes.
const latency = 7 * time.Millisecond

// errEndless: the world does not come to rest.
var errEndless = errors.New("the world does not come to rest")

// drive lets things happen until nothing is left that could.
func (g *gate) drive() error {
	for {
		synctest.Wait()
		g.collect()
		ready := g.ready()
		switch {
		case g.steps > g.limit:
			return fmt.Errorf("%w within %d steps", errEndless, g.limit)
		case len(ready) > 0:
			chosen := ready[g.choose(Next, len(ready))]
			g.items = slices.DeleteFunc(g.items, func(i *item) bool { return i == chosen })
			g.steps++
			chosen.run()
			time.Sleep(latency)
		case g.over():
			return nil
		default:
			g.pass()
		}
	}
}

// over reports whether nothing can happen any more.
func (g *gate) over() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.working == 0 && len(g.items) == 0
}

// pass lets time pass until something is ready or arrives.
func (g *gate) pass() {
	if len(g.items) == 0 {
		<-g.wake
		return
	}
	soonest := slices.MinFunc(g.items, func(a, b *item) int { return g.readyAt(a).Compare(g.readyAt(b)) })
	timer := time.NewTimer(time.Until(g.readyAt(soonest)))
	defer timer.Stop()
	select {
	case <-g.wake:
	case <-timer.C:
	}
}

// readyAt returns when an item can happen. Nothing happens to a frozen process.
func (g *gate) readyAt(i *item) time.Time {
	if i.of != nil && i.of.frozen.After(i.at) {
		return i.of.frozen
	}
	return i.at
}

// collect takes in what arrived since the last step, in an order that does not depend on which
// goroutine ran first.
func (g *gate) collect() {
	g.mu.Lock()
	arrived := g.arrived
	g.arrived = nil
	g.mu.Unlock()
	if len(arrived) > 1 {
		slices.SortFunc(arrived, func(a, b *item) int { return cmp.Compare(a.label(), b.label()) })
	}
	for _, i := range arrived {
		i.step = g.steps
	}
	g.items = append(g.items, arrived...)
}

func (g *gate) ready() []*item {
	now := time.Now()
	var ready []*item
	for _, i := range g.items {
		if !g.readyAt(i).After(now) {
			ready = append(ready, i)
		}
	}
	return ready
}

// arrive adds an item from any goroutine.
func (g *gate) arrive(i *item) {
	g.mu.Lock()
	g.arrived = append(g.arrived, i)
	g.mu.Unlock()
	g.signal()
}

func (g *gate) signal() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// later adds an item from a step.
func (g *gate) later(after time.Duration, of *process, label func() string, run func()) {
	g.items = append(g.items, &item{at: time.Now().Add(after), step: g.steps, of: of, label: label, run: run})
}

// spawn runs a goroutine of the world. The world is not over before it has returned.
func (g *gate) spawn(work func()) {
	g.mu.Lock()
	g.working++
	g.mu.Unlock()
	go func() {
		defer func() {
			g.mu.Lock()
			g.working--
			g.mu.Unlock()
			g.signal()
		}()
		work()
	}()
}

// event waits until the event that label names is chosen, and then runs it in its step.
func (g *gate) event(label string, run func()) {
	done := make(chan struct{})
	g.arrive(&item{at: time.Now(), label: func() string { return label }, run: func() {
		g.note(label, "")
		if run != nil {
			run()
		}
		close(done)
	}})
	<-done
}

func (g *gate) note(label, outcome string) {
	if g.trace != nil {
		g.trace.add(g.steps, time.Now(), label, outcome)
	}
}

// errDied is what every call of a process gets once it has died. Its goroutines then end without a
// further effect.
var errDied = errors.New("this process is dead")

// A call is one request that leaves a process.
type call struct {
	label func() string
	// fates are what may become of it, beside that it works.
	fates []fate
	// do is what happens where the request arrives. Its error is the answer.
	do func() error
	// unavailable is the answer where there is none.
	unavailable error
	// handle deals with the fates that only this kind of call has. It reports whether it did.
	handle func(fate) bool

	by      *actor
	answer  chan error
	settled bool // it has been answered, or its caller is gone
}

// send waits until the call is answered. Where ctx ends first the caller goes on, and the request
// may still arrive.
func (g *gate) send(ctx context.Context, by *actor, c *call) error {
	c.by, c.answer = by, make(chan error, 1)
	g.mu.Lock()
	dead := by.process.dead || g.brokenOff
	g.mu.Unlock()
	if dead {
		return errDied
	}
	g.arrive(&item{at: time.Now(), of: by.process, label: c.label, run: func() { g.arrives(ctx, c) }})
	select {
	case err := <-c.answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("waiting for an answer: %w", context.Cause(ctx))
	}
}

// arrives decides the fate of a request.
func (g *gate) arrives(ctx context.Context, c *call) {
	if c.by.process.dead || g.brokenOff || ctx.Err() != nil { // the caller is gone; the request may be on its way
		landed := g.choose(Orphan, 2) == 1
		if landed {
			_ = c.do() // its caller gets no answer
		}
		g.noteOrphan(c, landed)
		g.reply(c, errDied)
		return
	}
	chosen := works
	if n := g.choose(Fate, len(c.fates)+1); n > 0 {
		chosen = c.fates[n-1]
	}
	if c.handle != nil && c.handle(chosen) {
		g.noteFate(c, chosen, nil)
		return
	}
	g.noteFate(c, chosen, g.perform(c, chosen))
}

// perform carries out a fate that any call may have. It returns the answer.
func (g *gate) perform(c *call, chosen fate) error {
	var err error
	switch chosen {
	case refused:
		err = c.unavailable
		g.reply(c, err)
	case answerLost:
		_ = c.do()
		err = c.unavailable
		g.reply(c, err)
	case late:
		g.later(lateBy, nil, func() string { return "at last " + c.label() }, func() {
			g.note("at last "+c.label(), outcomeOf(c.do()))
		})
		err = c.unavailable
		g.reply(c, err)
	case slow:
		err = c.do()
		g.replyLater(c, err, slowBy)
	case frozen:
		err = c.do()
		c.by.process.frozen = time.Now().Add(frozenFor)
		g.replyLater(c, err, 0)
	case diesBefore:
		g.kill(c.by.process)
		g.reply(c, errDied)
	case diesAfter:
		err = c.do()
		g.kill(c.by.process)
		g.reply(c, errDied)
	default:
		err = c.do()
		g.reply(c, err)
	}
	return err
}

func (g *gate) reply(c *call, err error) {
	if !c.settled {
		c.settled = true
		c.answer <- err
	}
}

func (g *gate) replyLater(c *call, err error, after time.Duration) {
	label := func() string { return "answer to " + c.label() }
	g.later(after, c.by.process, label, func() {
		if g.trace != nil {
			g.note(label(), "")
		}
		if c.by.process.dead {
			err = errDied
		}
		g.reply(c, err)
	})
}
