package geminisim

import (
	"context"
	"strconv"
	"time"
)

// launch gives a new operation its id, times and plan, and starts it. The caller must have set the
// fields of the request, and hold s.mu.
func (s *Sim) launch(o *operation) {
	k := o.kind
	o.nth = s.created[k]
	s.created[k]++
	nth := strconv.Itoa(o.nth)
	script, faults := s.scriptOf(o.label)
	o.id = k.newID(s.rand(k.name, nth))
	o.createTime = s.cfg.Now()
	o.plan = s.newPlan(k, k.plans+nth, faults)
	o.planBatch(s.rand("batch plan", o.id), faults)
	o.plan = script.change(o.plan)
	o.rank = s.rand("list", o.id).Uint64()
	o.visibleFrom = s.elapsed() + o.plan.hidden
	o.now = snapshot{state: k.first, updateTime: o.createTime}
	if script.Hold != "" {
		o.now.state = script.Hold
	}
	o.before = o.now
	o.ctx, o.unplan = context.WithCancel(s.ctx)
	s.operations = append(s.operations, o)
	s.byID[o.id] = o
	s.countLocked(func(st *Stats) { st.Created++ })
	s.entered(o)
	if script.Hold == "" {
		ctx := o.ctx
		s.spawn(func() { s.follow(ctx, o) })
	}
}

// follow executes the plan of an operation.
func (s *Sim) follow(ctx context.Context, o *operation) {
	if !s.sleep(ctx, o.plan.queue) {
		return
	}
	if o.kind.running != o.kind.first && !s.move(ctx, o, o.kind.running) {
		return
	}
	if s.sleep(ctx, o.plan.run) {
		s.move(ctx, o, o.plan.final)
	}
}

// move changes an operation's state, unless ctx has ended, which means that the operation has left
// its plan.
func (s *Sim) move(ctx context.Context, o *operation, state State) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	s.moveLocked(o, state)
	return true
}

// moveLocked changes an operation's state now.
func (s *Sim) moveLocked(o *operation, state State) {
	// Two states never share an update time, even where the clock stands still or is coarse:
	// receivers keep microseconds.
	at := s.cfg.Now()
	if least := o.now.updateTime.Add(time.Microsecond); at.Before(least) {
		at = least
	}
	o.before, o.now = o.now, snapshot{state: state, updateTime: at}
	s.entered(o)
}

// entered does what a new state of an operation requires.
func (s *Sim) entered(o *operation) {
	o.moves++
	if o.now.state == o.kind.running {
		o.runningAt = o.now.updateTime
	}
	if o.now.state.Terminal() {
		// As seen live: the update is recorded a few dozen nanoseconds before the end that it is
		// about.
		o.now.endTime = o.now.updateTime.Add(37 * time.Nanosecond)
		o.unplan()
		if !o.settled {
			o.settled = true
			s.countLocked(func(st *Stats) { st.Settled++ })
			s.countResults(o)
		}
	}
	s.announce(o)
}

// replan ends the goroutine that follows the operation's plan, and returns the context for the next
// one.
func (s *Sim) replan(o *operation) context.Context {
	o.unplan()
	o.ctx, o.unplan = context.WithCancel(s.ctx)
	return o.ctx
}

// cancelTakes is the simulated time from the answer to a cancellation until the operation ends.
const cancelTakes = 5 * time.Second

// cancel ends an operation's plan and cancels the operation, unless it has ended.
func (s *Sim) cancel(o *operation) {
	if o.now.state.Terminal() {
		return
	}
	ctx := s.replan(o)
	s.spawn(func() {
		if s.sleep(ctx, cancelTakes) {
			s.move(ctx, o, o.kind.cancelled)
		}
	})
}
