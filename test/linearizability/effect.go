package linearizability

// effects is how many effects the rules of the histories have.
const effects = 2

// effectNames are the names of the effects: publish runs at every success and failure, notify at
// the success of an operation of the job kind.
var effectNames = [effects]string{"publish", "notify"}

// jobKind is the one for which the rules have notify.
const jobKind = "nightly"

// The states of an effect [S2]; empty where it is not planned.
const (
	pending = "PENDING"
	claimed = "CLAIMED"
	done    = "DONE"
	dead    = "DEAD"
)

// interruptions times MaxAttempts is how many leases of an effect may run out before it is dead
// [S4].
const interruptions = 3

// An effect is one side effect of the operation.
type effect struct {
	state                          string
	fence                          int64
	attempts, failures, interrupts int
	// buried: a claim that was not granted made it dead, so that no lease is the last one any more.
	buried bool
	// The lease ends, or the back-off, at a time from early to late.
	early, late int64
	payload     string // frozen when it is planned [K4]
}

// plan plans the effects of the operation's state that were not planned before [S3, W5].
func (s *state) plan() (planned int) {
	r := &s.record
	due := [effects]bool{
		r.State == "SUCCEEDED" || r.State == "FAILED",
		r.State == "SUCCEEDED" && r.JobKind == jobKind,
	}
	for i := range s.effects {
		if e := &s.effects[i]; r.Registered && due[i] && e.state == "" {
			*e = effect{state: pending, payload: r.State + " " + r.JobKind + " " + r.File}
			r.Effects[i] = "open"
			planned++
		}
	}
	return planned
}

// note writes the end of an effect into the record, in the same commit.
func (r *record) note(i int, before, after effect) {
	if before.state == after.state {
		return
	}
	switch after.state {
	case done:
		r.Effects[i] = "done"
		r.Version++
	case dead:
		r.Effects[i] = "dead"
		r.Version++
	}
}

// step changes the effect as a call about it does, and reports whether the call may be answered so.
func (e *effect) step(s bounds, in input, out output) bool {
	switch in.Call {
	case claim:
		return e.claim(s, out)
	case finish:
		return e.finish(in, out)
	case release:
		return e.release(s, in, out)
	}
	return false
}

// claim grants the effect to one caller: where it is pending and its back-off is over, or where the
// lease of another has run out [S2, S3, S6].
func (e *effect) claim(s bounds, out output) bool {
	over := out.Ended+int64(s.Slack) >= e.early // the lease or back-off may be over
	lasts := out.Began-int64(s.Slack) < e.late  // it may not
	switch {
	case e.state == "":
		return out.Verdict == "absent"
	case e.state == done:
		return out.Verdict == "done"
	case e.state == dead:
		return out.Verdict == "dead"
	case out.Verdict == "held":
		return e.state == claimed && lasts
	case out.Verdict == "backing-off":
		return e.state == pending && lasts
	case !over:
		return false
	}
	seized := e.state == claimed
	if seized {
		e.interrupts++
	}
	if seized && e.interrupts >= interruptions*s.MaxAttempts {
		e.state, e.buried = dead, true
		return out.Verdict == "exhausted"
	}
	e.state = claimed
	e.fence++
	e.attempts++
	e.early, e.late = out.Began+int64(s.ClaimTTL), out.Ended+int64(s.ClaimTTL)
	return out.Verdict == "claimed" && out.Fence == e.fence && out.Attempt == e.attempts && out.Seized == seized &&
		out.Payload == e.payload
}

// finish makes the effect done, once, where the fence is that of its last claim [S6]. The same
// again changes nothing.
func (e *effect) finish(in input, out output) bool {
	if in.Fence != e.fence || e.state != claimed && e.state != done {
		return out.Lost
	}
	e.state = done
	return !out.Lost
}

// release gives the effect back after a failure, or gives it up. The same again changes nothing.
func (e *effect) release(s bounds, in input, out output) bool {
	switch {
	case in.Fence != e.fence || e.state == done || e.buried:
		return out.Lost
	case e.state != claimed: // released before, by this lease
		return !out.Lost && out.Dead == (e.state == dead)
	}
	e.failures++
	if e.failures >= s.MaxAttempts {
		e.state = dead
		return !out.Lost && out.Dead
	}
	e.state = pending
	wait := backoff(s, e.failures)
	e.early, e.late = out.Began+max(wait/2, int64(in.RetryAfter)), out.Ended+max(wait, int64(in.RetryAfter))
	return !out.Lost && !out.Dead
}

// backoff is the longest wait after so many failures, the shortest being half of it: a 600th of the
// lease, four times as long after each failure, six leases at most [S4].
func backoff(s bounds, failures int) int64 {
	wait, most := int64(s.ClaimTTL)/600, 6*int64(s.ClaimTTL)
	for range failures - 1 {
		wait = min(4*wait, most)
	}
	return wait
}
