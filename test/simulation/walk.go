package simulation

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// A Small is a world that is small enough to walk through: every order in which its calls can
// arrive.
type Small struct {
	// Setup puts into the store what is there at the beginning, and starts the processes.
	Setup func(w *World, s *Walking)
	// Crashes is how many processes may die, each at any time.
	Crashes int
	// Jumps are times that may pass at once, at any time and in their order, while calls are on
	// their way: a lease, or the patience with an intent.
	Jumps []time.Duration
	// Flaw is a broken guard. Then the walk ends at a violation of its own rules alone.
	Flaw Flaw
	// Pivot is a document that every commit writes; empty: there is none. A commit that does not is a
	// violation.
	Pivot ledger.Path
	// Whole leaves out no order, to check that those which a walk leaves out lead nowhere else.
	Whole bool
	// End checks what must hold when the world has come to rest, beside the invariants of all worlds.
	End func(w *World)
	// Most bounds the number of states, against a world that is not small; 0: no bound.
	Most int
}

// A Walked is what a walk came to.
type Walked struct {
	Complete    bool // every state was left by every way
	States      int  // different ones in which something can happen
	Ends        int  // different ones in which nothing can any more
	Schedules   int  // that were run, up to a state that was known
	Transitions int  // the ways from a state to the next
	Deepest     int  // how many decisions the longest schedule has
	// Violation is the first invariant that did not hold, and Trace the schedule that leads there.
	Violation string
	Trace     string
}

func (r Walked) String() string {
	return fmt.Sprintf("%d states, %d ends, %d transitions in %d schedules of at most %d decisions; complete: %v",
		r.States, r.Ends, r.Transitions, r.Schedules, r.Deepest, r.Complete)
}

// A branch is a decision of the present schedule.
type branch struct{ chosen, options int }

// A Walking is a walk through a small world, depth first. It runs the world again for each
// schedule, from the beginning, with the decisions of the last one but for the last that can be
// changed. It leaves a schedule at a state that it knows.
//
// What is atomic is a call: a read of several documents, a commit, a request to a receiver or to
// Gemini. Between any two of them every call of every other process may arrive. No time passes
// while a call can arrive, but for the jumps, so that the order of calls leaves no trace in times.
//
// Two states are equal where the documents are, the time, what the receiver got, how many may still
// die, the calls on their way, whose callers may have given up, and of each process that lives what
// it asked and was answered, and when: a process is deterministic, so that says where it stands.
//
// Orders are left out that lead to no end which another does not lead to; walk_reduce.go says which,
// and why. TestReducedWalksFindTheSame compares with a walk that leaves out none. A process dies only
// in place of a call, or right after it: no other sees when it died.
type Walking struct {
	small  Small
	result Walked
	seen   map[uint64]bool
	path   []branch
	depth  int // of the present schedule in path
	picked uint64
	lands  int // 1: the call of a process that dies now arrives

	w       *World
	actors  []*actorState
	crashes int
	jumps   int
	tracing bool

	// For tests: ended is told each end, before the world comes to rest; found collects violations,
	// and the walk goes on.
	ended func(*World)
	found map[string]bool
}

// Walk walks through a small world until it has seen all, or an invariant does not hold. It stops
// at Most states.
func Walk(t *testing.T, small Small) Walked {
	t.Helper()
	return (&Walking{small: small}).walk(t)
}

func (x *Walking) walk(t *testing.T) Walked {
	t.Helper()
	x.seen = map[uint64]bool{}
	for {
		synctest.Test(t, func(*testing.T) { x.schedule() })
		x.result.Schedules++
		x.result.Deepest = max(x.result.Deepest, x.depth)
		switch {
		case x.result.Violation != "":
			return x.traced(t)
		case x.small.Most > 0 && x.result.States > x.small.Most:
			return x.result
		case !x.back():
			x.result.Complete = true
			return x.result
		}
	}
}

// traced runs the last schedule again, with a trace.
func (x *Walking) traced(t *testing.T) Walked {
	t.Helper()
	result := x.result
	x.tracing, x.result.Violation = true, ""
	synctest.Test(t, func(*testing.T) {
		x.schedule()
		result.Trace = x.w.gate.trace.String()
	})
	return result
}

// back changes the last decision that has another option. There is none where all has been seen.
func (x *Walking) back() bool {
	for len(x.path) > 0 {
		last := &x.path[len(x.path)-1]
		if last.chosen++; last.chosen < last.options {
			return true
		}
		x.path = x.path[:len(x.path)-1]
	}
	return false
}

// Choose decides as the schedule says, and beyond its end takes the first option. What becomes of a
// call is a decision only where the small world gave it two fates.
func (x *Walking) Choose(about Question, n int) int {
	switch {
	case about == Orphan:
		return x.lands
	case about == Outside, about == Fate && n != 2:
		return 0
	}
	if x.depth == len(x.path) {
		x.path = append(x.path, branch{options: n})
	}
	b := x.path[x.depth]
	if b.options != n {
		panic(fmt.Sprintf("decision %d has %d options, and had %d: the world is not deterministic", x.depth, n, b.options))
	}
	x.depth++
	x.picked = x.picked*31 + uint64(b.chosen) + 1
	return b.chosen
}

// schedule runs one schedule.
func (x *Walking) schedule() {
	x.depth, x.actors, x.crashes, x.jumps = 0, nil, 0, 0
	x.w = newWorld(x)
	x.w.store.flaw = x.small.Flaw
	if x.tracing {
		x.w.gate.trace = &trace{began: time.Now()}
	}
	x.small.Setup(x.w, x)
	if !x.drive() {
		x.w.gate.abandon()
		return
	}
	if x.ended != nil {
		x.ended(x.w)
	}
	g := x.w.gate
	g.calm = true
	g.spawn(x.w.rest)
	if err := g.drive(); err != nil {
		x.w.check.violated("%v", err)
		g.abandon()
	}
	x.w.check.end()
	if x.small.End != nil {
		x.small.End(x.w)
	}
	x.judge()
}

func (x *Walking) judge() {
	violations := x.w.check.violations
	if x.found != nil {
		for _, violation := range violations {
			x.found[violation] = true
		}
		return
	}
	x.result.Violation = breaks(violations, x.small.Flaw.Rules())
}

// drive runs the schedule until nothing can happen. It reports whether the state is a new one: at
// one that is known it stops.
func (x *Walking) drive() bool {
	g := x.w.gate
	for {
		synctest.Wait()
		g.collect()
		if x.judge(); x.result.Violation != "" {
			return false
		}
		options := x.options()
		switch over := g.over(); {
		case len(options) == 0 && !over:
			g.pass()
			continue
		case x.depth == len(x.path) && !x.tracing && !x.enter(over):
			return false
		case over:
			return true
		}
		chosen := 0
		if len(options) > 1 {
			chosen = x.Choose(Next, len(options))
		}
		options[chosen]()
	}
}

// enter counts the present state, and reports whether it is a new one.
func (x *Walking) enter(over bool) bool {
	x.result.Transitions++
	state := x.state()
	if x.seen[state] {
		return false
	}
	x.seen[state] = true
	if over {
		x.result.Ends++
	} else {
		x.result.States++
	}
	return true
}
