package effects

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
)

const (
	// maxRest is the longest back-off that a request waits for. A longer one is left to the sweep.
	maxRest = 20 * time.Second
	// maxPatience bounds all waiting of a request without a deadline. One with a deadline waits in the
	// first half of its time.
	maxPatience = time.Minute
	// busyRetry is after what time Options.Later requeues a message that found no turn.
	busyRetry = time.Second
)

// reserve is the part of a request's time, a quarter at most, kept to record the outcome and to
// answer.
const reserve = 15 * time.Second

// bounded returns a context that ends before the platform ends the request.
func (f Function) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.Timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, f.Timeout-min(reserve, f.Timeout/4))
}

// A pace bounds how many of each effect are in flight in one process, and how many requests wait.
// Requests that wait for one receiver leave slots to the effects of the others.
type pace struct {
	turns map[string]*semaphore.Weighted // by rule, held by each that is in flight
	waits *semaphore.Weighted            // held by each request that waits
}

func newPace(o Options) pace {
	p := pace{turns: map[string]*semaphore.Weighted{}, waits: semaphore.NewWeighted(int64(o.Slots / 2))}
	for rule, most := range o.Concurrency {
		p.turns[rule] = semaphore.NewWeighted(int64(most))
	}
	return p
}

// patience returns a context that ends when a request must stop waiting, or the process must stop.
func patience(ctx context.Context) (context.Context, context.CancelFunc) {
	wait := maxPatience
	if deadline, ok := ctx.Deadline(); ok {
		wait = time.Until(deadline) / 2
	}
	within, cancel := context.WithTimeout(ctx, wait)
	release := context.AfterFunc(effect.Stopping(ctx), cancel)
	return within, func() { release(); cancel() }
}

// enter waits for the effect's turn and returns what ends the turn. It reports false where no
// further request may wait, patience ends first, or the process must stop.
func (p pace) enter(patience context.Context, m ledger.Message) (leave func(), ok bool) {
	if effect.Stopping(patience).Err() != nil {
		return nil, false
	}
	turns, bounded := p.turns[ledger.RuleOf(m.Effect)]
	if !bounded {
		return func() {}, true
	}
	leave = func() { turns.Release(1) }
	if turns.TryAcquire(1) {
		return leave, true
	}
	if !p.waits.TryAcquire(1) {
		return nil, false
	}
	defer p.waits.Release(1)
	return leave, turns.Acquire(patience, 1) == nil
}

// rest waits for d. It reports false at once where d is too long, patience would end first, or no
// further request may wait.
func (p pace) rest(patience context.Context, d time.Duration) bool {
	if end, _ := patience.Deadline(); d > maxRest || time.Until(end) < d || !p.waits.TryAcquire(1) {
		return false
	}
	defer p.waits.Release(1)
	return effect.Wait(patience, d)
}

// Run handles a message: it makes an attempt, and another after each failure whose back-off it
// waits for. It returns the last report. Each attempt is a line in the log. The message must be
// redelivered after an error, and where Report.Again is true.
func (f Function) Run(ctx context.Context, m ledger.Message) (effect.Report, error) {
	patience, cancel := patience(ctx)
	defer cancel()
	for {
		report, err := f.inTurn(ctx, patience, m)
		again := []effect.Outcome{effect.Failed, effect.Busy, effect.Postponed}
		if err != nil || !slices.Contains(again, report.Outcome) {
			return report, err
		}
		next := ledger.Message{Operation: m.Operation, Effect: report.Replay.Effect, Attempt: report.Lease.Attempt + 1}
		switch {
		case f.Later != nil:
			f.Later(next, report.RetryAfter)
			return report, nil
		case report.Outcome == effect.Busy || !f.pace.rest(patience, report.RetryAfter):
			return report, nil // the sweep sends another message
		}
		m = next
	}
}

// inTurn makes an attempt when it is the effect's turn, or declines it where there is none.
func (f Function) inTurn(ctx, patience context.Context, m ledger.Message) (effect.Report, error) {
	began := f.Now()
	var report effect.Report
	var err error
	if f.Paused {
		report, err = f.Runner.Decline(ctx, m, effect.Paused)
	} else if leave, ok := f.pace.enter(patience, m); ok {
		began = f.Now()
		report, err = f.Runner.Run(ctx, m)
		leave()
	} else if report, err = f.Runner.Decline(ctx, m, effect.Busy); report.Outcome == effect.Busy {
		report.RetryAfter = busyRetry
	}
	f.logAttempt(ctx, m, report, err, f.Now().Sub(began))
	return report, err
}
