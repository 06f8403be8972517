package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A Script sets a world up: it starts what happens in it.
type Script func(w *World)

// A Result is what came of a schedule.
type Result struct {
	// Choices are the decisions that were made: [Replay] of them repeats the schedule.
	Choices []int
	Steps   int
	// Violations are the invariants that did not hold, with the numbers of their rules.
	Violations []string
	// Trace is what happened, a line for each step; empty unless it was asked for.
	Trace string
	// Met is what the schedule met.
	Met Met
}

// Options say how a schedule is run.
type Options struct {
	Script Script // nil: Storm
	Test   string // which repeats a schedule; empty: TestStorm
	Flaw   Flaw
	Trace  bool
	// Until are rules: the schedule is broken off at its first violation of one of them. Empty: it ends.
	Until []string
}

// command returns the command that repeats the schedule of a chooser.
func (o Options) command(chooser Chooser) string {
	return fmt.Sprintf("go test ./test/simulation -run %s -v %v", cmp.Or(o.Test, "TestStorm"), chooser)
}

// Run runs one schedule in a bubble of its own. It fails no test: what is wrong is in the result.
//
// A panic, a deadlock and a mutex that stops the bubble end the test's process, and no result is left.
// So each goroutine of the schedule is labelled with the chooser. What Go then prints of a goroutine
// has its label, see TestBrokenOffScheduleIsTold.
func Run(t *testing.T, chooser Chooser, o Options) (result Result) {
	t.Helper()
	label := pprof.Labels("repeat it", o.command(chooser))
	pprof.Do(context.Background(), label, func(context.Context) {
		synctest.Test(t, func(*testing.T) { result = newWorld(chooser).run(o) })
	})
	return result
}

func (w *World) run(o Options) Result {
	w.store.flaw = o.Flaw
	if o.Trace {
		w.gate.trace = &trace{began: time.Now()}
	}
	if o.Script == nil {
		o.Script = Storm
	}
	o.Script(w)
	if len(o.Until) > 0 {
		judged := 0
		w.gate.enough = func() bool {
			fresh := w.check.violations[judged:]
			judged += len(fresh)
			return breaks(fresh, o.Until) != ""
		}
	}
	switch err := w.gate.drive(); {
	case errors.Is(err, errEnough):
		w.gate.abandon()
	case err != nil:
		w.check.violated("%v", err)
		w.gate.abandon()
		fallthrough
	default:
		w.check.end()
	}
	result := Result{Choices: w.gate.choices, Steps: w.gate.steps, Violations: w.check.violations, Met: w.gate.met}
	if w.gate.trace != nil {
		result.Trace = w.gate.trace.String()
	}
	return result
}

// Storm is the script of the random schedules: one to three batches, submitted, reported and effected
// while calls fail, processes die and messages are lost; then the faults end, and passes drive the
// world to rest.
func Storm(w *World) {
	choose := func(of ...time.Duration) time.Duration { return of[w.gate.choose(Plan, len(of))] }
	w.store.clock.skew = choose(0, 17*time.Minute, -20*time.Minute)
	w.gemini.skew = choose(0, 41*time.Second, -3*time.Minute)
	ends := []operation.State{operation.Succeeded, operation.Failed, operation.Cancelled, operation.Expired}
	for i := range 1 + w.gate.choose(Plan, 3) {
		o := &order{
			id:        fmt.Sprintf("job-%c", 'a'+i),
			start:     choose(0, 0, time.Minute),
			runsAfter: choose(2*time.Second, 40*time.Second),
			endsAfter: choose(20*time.Second, 3*time.Minute, 9*time.Minute, 14*time.Minute, 0),
			end:       ends[w.gate.choose(Plan, len(ends))],
			forged:    w.gate.choose(Plan, 8) == 1,
			silent:    w.gate.choose(Plan, 3) == 1,
			declines:  []int{0, 0, 0, 0, 1, 2}[w.gate.choose(Plan, 6)],
			items:     max(w.gate.choose(Plan, 2*mostItems)-mostItems+1, 0),
			intent:    w.gate.choose(Plan, 2) == 0,
			skew:      choose(0, 10*time.Minute, -10*time.Minute),
		}
		if o.endsAfter > 0 {
			o.endsAfter += o.runsAfter
		}
		w.orders = append(w.orders, o)
		w.gate.spawn(func() { w.submit(o) })
	}
	early := w.leap()
	passes := 1 + w.gate.choose(Plan, 3)
	for i := range passes {
		w.at(time.Duration(i+1)*w.settings.Interval, w.pass)
	}
	operator, ages := w.gate.choose(Plan, 2) == 1, w.gate.choose(Plan, 8) == 1
	w.at(time.Duration(passes)*w.settings.Interval+2*time.Minute, func() {
		if operator {
			w.replay()
		}
		w.gate.event("the faults end", func() { w.gate.calm = true })
		w.setClock(0)
		w.rest()
		if ages && !early {
			w.age()
		}
	})
}

// replay is what an operator does: a message for each effect that is DEAD, perhaps twice.
func (w *World) replay() {
	w.gate.event("an operator replays what is DEAD", func() {
		for _, e := range w.dead() {
			w.accept(ledger.Message{Operation: e.Operation, Effect: e.Name, By: "operator"}, 1+w.gate.choose(Plan, 2))
		}
	})
}

// restPasses bounds the passes in which a world must come to rest once the faults have ended.
const restPasses = 40

// rest lets time pass, with a pass whenever something is due, until nothing is left to do.
func (w *World) rest() {
	for range restPasses {
		var wait time.Duration
		left := ""
		w.gate.event("is there anything left to do?", func() { left, wait = w.check.unfinished(), w.untilDue() })
		if left == "" {
			return
		}
		time.Sleep(wait)
		w.pass()
		time.Sleep(5 * time.Second) // for the messages of the pass
	}
	w.gate.event("there is still something left to do", func() {
		w.check.violated("after %d passes without faults: %s [R2, R5]", restPasses, w.check.unfinished())
	})
}

// untilDue returns how long it is until something is due, at least half a minute.
func (w *World) untilDue() time.Duration {
	soonest := w.store.now().Add(w.settings.Interval)
	for _, d := range w.store.documents {
		if due := d.times.DueAt; !due.IsZero() && due.Before(soonest) {
			soonest = due
		}
	}
	return max(soonest.Sub(w.store.now())+time.Second, 30*time.Second)
}

// abandon ends a world that does not come to rest: every call fails from now on.
func (g *gate) abandon() {
	g.mu.Lock()
	g.brokenOff = true
	g.mu.Unlock()
	g.calm, g.limit, g.enough = true, 2*maxSteps, nil
	if err := g.drive(); err != nil {
		panic(err) // it would leak goroutines
	}
}
