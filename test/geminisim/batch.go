package geminisim

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// State is a batch's state as the API spells it. A test may put a batch in a
// state that is none of these.
type State string

// The states of a batch (documented). There is no CANCELLING.
const (
	StatePending   State = "BATCH_STATE_PENDING"
	StateRunning   State = "BATCH_STATE_RUNNING"
	StateSucceeded State = "BATCH_STATE_SUCCEEDED"
	StateFailed    State = "BATCH_STATE_FAILED"
	StateCancelled State = "BATCH_STATE_CANCELLED"
	StateExpired   State = "BATCH_STATE_EXPIRED"
)

// Terminal says whether a batch in this state has ended.
func (st State) Terminal() bool {
	return st == StateSucceeded || st == StateFailed || st == StateCancelled || st == StateExpired
}

const batchPrefix = "batches/"

// batch is one job. Sim.mu guards what changes: everything from now on.
type batch struct {
	id           string
	displayName  string
	model        string
	inputFile    string          // files/…, or "" for inline input
	requests     []inlineRequest // inline input
	userMetadata map[string]any
	ownURIs      bool // dynamic webhooks, instead of the registered ones
	createTime   time.Time
	plan         plan

	now, before snapshot // before: what a stale answer shows
	runningAt   time.Time
	ctx         context.Context // ends when somebody takes the batch out of its plan
	unplan      context.CancelFunc
	moves       int  // states reached
	deleted     bool // from the API; the job goes on
	settled     bool // was terminal once: tests may move it on

	told     bool // there was somebody to tell of the end
	accepted bool
	open     int // deliveries of the completion that are not over
	reached  int
}

// snapshot is what the API knew at one moment.
type snapshot struct {
	state      State
	updateTime time.Time
	endTime    time.Time // zero unless terminal
}

func (b *batch) name() string { return batchPrefix + b.id }

func (b *batch) completion() Completion {
	switch {
	case !b.told:
		return CompletionNone
	case b.accepted:
		return CompletionAccepted
	case b.open > 0:
		return CompletionOpen
	}
	return CompletionLost
}

// resultFile is the name of the file with the results, "" if there is none.
func (b *batch) resultFile(at snapshot) string {
	if at.state != StateSucceeded || b.inputFile == "" {
		return ""
	}
	return "files/batch-" + b.id
}

// follow moves a batch as its plan says.
func (s *Sim) follow(ctx context.Context, b *batch) {
	if s.sleep(ctx, b.plan.queue) && s.move(ctx, b, StateRunning) && s.sleep(ctx, b.plan.run) {
		s.move(ctx, b, b.plan.final)
	}
}

// move puts a batch in a state unless ctx has ended, that is unless somebody
// else took the batch out of its plan meanwhile.
func (s *Sim) move(ctx context.Context, b *batch, state State) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	s.moveLocked(b, state)
	return true
}

// moveLocked puts a batch in a state, now.
func (s *Sim) moveLocked(b *batch, state State) {
	// Two states never share an update time, even where the clock stands still
	// or is coarse: receivers keep microseconds.
	at := s.cfg.Now()
	if least := b.now.updateTime.Add(time.Microsecond); at.Before(least) {
		at = least
	}
	b.before, b.now = b.now, snapshot{state: state, updateTime: at}
	s.entered(b)
}

// entered does what follows from the state that a batch is now in.
func (s *Sim) entered(b *batch) {
	b.moves++
	switch {
	case b.now.state == StateRunning:
		b.runningAt = b.now.updateTime
	case b.now.state.Terminal():
		// As seen live: the update is recorded a few dozen nanoseconds before
		// the end that it is about.
		b.now.endTime = b.now.updateTime.Add(37 * time.Nanosecond)
		b.unplan()
		if !b.settled {
			b.settled = true
			s.countLocked(func(st *Stats) { st.Settled++ })
		}
		s.announce(b)
	}
}

// replan ends whatever moves the batch and returns the context for what does
// from here on.
func (s *Sim) replan(b *batch) context.Context {
	b.unplan()
	b.ctx, b.unplan = context.WithCancel(s.ctx)
	return b.ctx
}

// lookup finds a batch by batches/ and its id, or the newest with that display
// name.
func (s *Sim) lookup(name string) (*batch, error) {
	for _, b := range slices.Backward(s.batches) {
		if name == b.name() || name == b.displayName && name != "" {
			return b, nil
		}
	}
	return nil, fmt.Errorf("geminisim: no batch is named %q", name)
}
