package geminisim

import (
	"context"
	"strconv"
	"time"
)

// launch gives a new job its id, its times and its plan, and sets it going. The caller has filled
// in what the request says, and holds s.mu.
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

// follow moves a job as its plan says.
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

// move puts a job in a state unless ctx has ended, that is unless somebody else took the job out of
// its plan meanwhile.
func (s *Sim) move(ctx context.Context, j *job, state State) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	s.moveLocked(j, state)
	return true
}

// moveLocked puts a job in a state, now.
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

// entered does what follows from the state that a job is now in.
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

// replan ends whatever moves the job and returns the context for what does from here on.
func (s *Sim) replan(j *job) context.Context {
	j.unplan()
	j.ctx, j.unplan = context.WithCancel(s.ctx)
	return j.ctx
}

// cancelTakes is the simulated time from a cancellation to its effect: the answer to the request
// does not mean that the job has stopped.
const cancelTakes = 5 * time.Second

// cancel takes a job out of its plan; one that has ended stays as it is.
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
