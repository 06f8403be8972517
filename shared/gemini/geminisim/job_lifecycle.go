package geminisim

import (
	"context"
	"strconv"
	"time"
)

// launch gives a new job its id, times and plan, and starts it. The caller must have set the fields
// of the request, and hold s.mu.
func (s *Sim) launch(j *job) {
	k := j.kind
	j.nth = s.created[k]
	s.created[k]++
	nth := strconv.Itoa(j.nth)
	script := s.scripts[j.label]
	faults := s.cfg.Faults
	if script.Faults != nil {
		faults = *script.Faults
	}
	j.id = k.newID(s.rand(k.name, nth))
	j.createTime = s.cfg.Now()
	j.plan = script.change(s.newPlan(k, k.plans+nth, faults))
	j.rank = s.rand("list", j.id).Uint64()
	j.visibleFrom = s.elapsed() + j.plan.hidden
	j.now = snapshot{state: k.first, updateTime: j.createTime}
	if script.Hold != "" {
		j.now.state = script.Hold
	}
	j.before = j.now
	j.ctx, j.unplan = context.WithCancel(s.ctx)
	s.jobs = append(s.jobs, j)
	s.byID[j.id] = j
	s.countLocked(func(st *Stats) { st.Created++ })
	s.entered(j)
	if script.Hold == "" {
		ctx := j.ctx
		s.spawn(func() { s.follow(ctx, j) })
	}
}

// follow executes the plan of a job.
func (s *Sim) follow(ctx context.Context, j *job) {
	if !s.sleep(ctx, j.plan.queue) {
		return
	}
	if j.kind.running != j.kind.first && !s.move(ctx, j, j.kind.running) {
		return
	}
	if s.sleep(ctx, j.plan.run) {
		s.move(ctx, j, j.plan.final)
	}
}

// move changes a job's state, unless ctx has ended, which means that the job has left its plan.
func (s *Sim) move(ctx context.Context, j *job, state State) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	s.moveLocked(j, state)
	return true
}

// moveLocked changes a job's state now.
func (s *Sim) moveLocked(j *job, state State) {
	// Two states never share an update time, even where the clock stands still or is coarse:
	// receivers keep microseconds.
	at := s.cfg.Now()
	if least := j.now.updateTime.Add(time.Microsecond); at.Before(least) {
		at = least
	}
	j.before, j.now = j.now, snapshot{state: state, updateTime: at}
	s.entered(j)
}

// entered does what a new state of a job requires.
func (s *Sim) entered(j *job) {
	j.moves++
	if j.now.state == j.kind.running {
		j.runningAt = j.now.updateTime
	}
	if j.now.state.Terminal() {
		// As seen live: the update is recorded a few dozen nanoseconds before the end that it is
		// about.
		j.now.endTime = j.now.updateTime.Add(37 * time.Nanosecond)
		j.unplan()
		if !j.settled {
			j.settled = true
			s.countLocked(func(st *Stats) { st.Settled++ })
		}
	}
	s.announce(j)
}

// replan ends the goroutine that follows the job's plan, and returns the context for the next one.
func (s *Sim) replan(j *job) context.Context {
	j.unplan()
	j.ctx, j.unplan = context.WithCancel(s.ctx)
	return j.ctx
}

// cancelTakes is the simulated time from the answer to a cancellation until the job ends.
const cancelTakes = 5 * time.Second

// cancel ends a job's plan and cancels the job, unless it has ended.
func (s *Sim) cancel(j *job) {
	if j.now.state.Terminal() {
		return
	}
	ctx := s.replan(j)
	s.spawn(func() {
		if s.sleep(ctx, cancelTakes) {
			s.move(ctx, j, j.kind.cancelled)
		}
	})
}
