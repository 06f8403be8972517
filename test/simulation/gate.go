package simulation

import (
	"cmp"
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
	many    bool  // its requests make many calls, of which fewer are disturbed
	trace   *trace
	limit   int         // of steps: more is a world that does not come to rest
	enough  func() bool // nil: never; what was to be found is found

	met   Met
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
	return &gate{chooser: chooser, wake: make(chan struct{}, 1), limit: maxSteps, met: Met{}}
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

// errEnough: what was to be found is found.
var errEnough = errors.New("what was to be found is found")

// drive lets things happen until nothing is left that could.
func (g *gate) drive() error {
	for {
		synctest.Wait()
		g.collect()
		ready := g.ready()
		switch {
		case g.steps > g.limit:
			return fmt.Errorf("%w within %d steps", errEndless, g.limit)
		case g.enough != nil && g.enough():
			return errEnough
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
