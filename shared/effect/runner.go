package effect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// An Outcome says what became of a message, in words that logs and metrics count [S9].
type Outcome string

// The outcomes of a message.
const (
	Finished  Outcome = "finished"   // the effect happened and the ledger knows
	Failed    Outcome = "failed"     // it did not, and the ledger knows; it is tried again after a back-off
	Died      Outcome = "dead"       // it did not and will not; a person must look
	Continued Outcome = "continued"  // its time was over before its items were; the rest is handed on
	LeaseLost Outcome = "lease-lost" // it may have happened; somebody else has taken it over
	Skipped   Outcome = "skipped"    // nothing to do: absent, done or dead
	Held      Outcome = "held"       // somebody else is at it
	Early     Outcome = "early"      // it is backing off
	Unknown   Outcome = "unknown"    // this revision has no handler of that name; the sweep comes back to it
	Paused    Outcome = "paused"     // no effect runs now; it is due, and the sweep comes back to it
	Busy      Outcome = "busy"       // as many of its kind run in this process as may; it is due, as above
)

// A Report says what Run did.
type Report struct {
	Outcome Outcome
	Lease   ledger.Lease   // of the attempt; the zero Lease where there was none
	Verdict ledger.Verdict // of the claim
	// Replay is what a person's message changed before the claim; the zero Replayed for any other.
	Replay ledger.Replayed
	// Cause is why the effect did not happen; nil where it did, or was not tried. It has been recorded, unless the message asks
	// for what cannot be replayed: then it says why.
	Cause error
	// RetryAfter is how long the effect cannot be tried again where it Failed, or is Early or Held; where Again, how long to wait
	// before the message is delivered again.
	RetryAfter time.Duration
	// FailingSince is when the first attempt failed of those that count against an effect which Failed, or Died after others
	// had failed. Alert: it has been failing for long, and no other report says so.
	FailingSince time.Time
	Alert        bool
}

// Again reports whether the message must be delivered again because what it asks for is recorded nowhere: one of a person's
// about an effect that this revision does not know. Anything else is in the ledger, and comes back from there: a failure after
// its back-off, the rest of a run whose time was over, what may not run now. It is not left to redelivery, because a
// subscription that is refused much slows down for every message.
func (r Report) Again() bool { return r.Outcome == Unknown && r.RetryAfter > 0 }

// A Runner runs the effects that messages name.
type Runner struct {
	ledger   *ledger.Ledger
	handlers map[string]Handler
}

// NewRunner returns a Runner with a handler for each effect, by the name that its rule has; every run of a rule, such as
// "page@stuck-1", has the rule's handler.
func NewRunner(l *ledger.Ledger, handlers map[string]Handler) *Runner {
	return &Runner{ledger: l, handlers: handlers}
}

// Run claims the effect that m names, performs it, and records the outcome: the only way in which side effects happen [S1].
// An error means that the ledger could not be asked or told: the message must be delivered again, and nothing else must but
// where the Report says Again. All that a handler can do wrong is in the Report.
func (r *Runner) Run(ctx context.Context, m ledger.Message) (Report, error) {
	handler, known := r.handlers[ledger.RuleOf(m.Effect)]
	if !known {
		return r.unknown(ctx, m)
	}
	report, err := r.replay(ctx, m)
	if err != nil || report.Outcome == Skipped {
		return report, err
	}
	began := time.Now()
	grant, err := r.ledger.Claim(ctx, m.Operation, report.Replay.Effect)
	if err != nil {
		return report, err
	}
	report.Verdict, report.Lease, report.RetryAfter = grant.Verdict, grant.Lease, grant.RetryAfter
	switch grant.Verdict {
	case ledger.Claimed:
		return r.attempt(ctx, handler, report, began)
	case ledger.Held:
		report.Outcome = Held
	case ledger.BackingOff:
		report.Outcome = Early
	case ledger.Exhausted:
		report.Outcome = Died
		report.Cause = errors.New(grant.LastError)
	default:
		report.Outcome = Skipped
	}
	return report, nil
}

// recordTimeout bounds the recording of an outcome after the caller has gone.
const recordTimeout = 10 * time.Second

// attempt performs the effect under its lease and records what came of it, even if ctx has ended meanwhile: an effect that
// happened and is not recorded is repeated.
func (r *Runner) attempt(ctx context.Context, handler Handler, report Report, began time.Time) (Report, error) {
	lease := report.Lease
	extra, cause := r.perform(ctx, handler, lease, began)
	ctx = context.WithoutCancel(ctx)
	var err error
	report.Cause = cause
	switch {
	case cause == nil:
		err = r.finish(ctx, &report, extra)
	case errors.Is(cause, errContinue):
		report.Outcome = Continued
		err = insist(ctx, func(ctx context.Context) (err error) {
			report.Cause, err = r.ledger.Continue(ctx, lease)
			return err
		})
	case IsPermanent(cause):
		err = r.markDead(ctx, &report)
	default:
		err = r.release(ctx, &report)
	}
	if errors.Is(err, ledger.ErrLeaseLost) {
		report.Outcome, report.Cause = LeaseLost, errors.Join(report.Cause, err)
		return report, nil
	}
	return report, err
}

// finish records that the effect happened, in one commit with the handler's documents. Where these can never be written, no
// further attempt changes that, and each would perform the effect again; where they have lost a race, another may find them as
// it needs them.
func (r *Runner) finish(ctx context.Context, report *Report, extra []ledger.Write) error {
	report.Outcome = Finished
	err := insist(ctx, func(ctx context.Context) error { return r.ledger.Finish(ctx, report.Lease, extra...) })
	if len(extra) == 0 || !ledger.Permanent(err) && !errors.Is(err, ledger.ErrContention) {
		return err
	}
	report.Cause = fmt.Errorf("the documents of the handler cannot be written: %w", err)
	if ledger.Permanent(err) {
		return r.markDead(ctx, report)
	}
	return r.release(ctx, report)
}

// markDead records that the effect will never happen.
func (r *Runner) markDead(ctx context.Context, report *Report) error {
	report.Outcome, report.FailingSince = Died, report.Lease.FailingSince
	return insist(ctx, func(ctx context.Context) error { return r.ledger.MarkDead(ctx, report.Lease, report.Cause) })
}

// release records that the attempt failed, which may be the last that the effect has.
func (r *Runner) release(ctx context.Context, report *Report) error {
	var failure ledger.Failure
	err := insist(ctx, func(ctx context.Context) (err error) {
		failure, err = r.ledger.Release(ctx, report.Lease, report.Cause, retryAfter(report.Cause))
		return err
	})
	report.Outcome, report.RetryAfter = Failed, failure.Wait
	report.FailingSince, report.Alert = failure.Since, failure.Alert
	if failure.Dead {
		report.Outcome, report.Cause = Died, errors.New(failure.LastError)
	}
	return err
}

// insist records an outcome again and again while the store cannot take it, for recordTimeout: a hiccup of the store must not
// repeat an effect that is known to have happened. Where the time ran out, the error still says what the store said.
func insist(ctx context.Context, record func(context.Context) error) error {
	const pause = 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	var refused error
	for {
		err := record(ctx)
		again := errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrContention)
		switch {
		case !again && refused != nil && ctx.Err() != nil:
			return fmt.Errorf("%w (%w)", refused, err)
		case !again || !wait(ctx, pause):
			return err
		}
		refused = err
	}
}

// perform calls the handler with a context that lives as long as the lease is surely held.
func (r *Runner) perform(ctx context.Context, handler Handler, lease ledger.Lease, began time.Time) (extra []ledger.Write, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		r.keep(ctx, cancel, lease, began)
	}()
	defer func() {
		cancel(nil)
		<-kept
		if p := recover(); p != nil {
			extra, err = nil, fmt.Errorf("the handler panicked: %v", p)
		}
	}()
	extra, err = handler.Perform(ctx, Task{Lease: lease})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	return extra, err
}

var errLeaseEnds = errors.New("the lease ends and could not be extended")

// keep extends the lease a third of its length before its end, again and again, until ctx ends; an extension that fails is
// tried again while there is time. It ends ctx when the lease is lost, or a tenth of its length before an end that it could
// not put off [S6]. granted is an instant before the claim was made, on this machine's monotonic clock, so that the lease
// really ends later than keep believes.
func (r *Runner) keep(ctx context.Context, end context.CancelCauseFunc, lease ledger.Lease, granted time.Time) {
	ttl := r.ledger.Settings().ClaimTTL
	next := granted.Add(ttl - ttl/3)
	for {
		cutoff := granted.Add(ttl - ttl/10)
		if !wait(ctx, time.Until(next)) {
			return
		}
		asked := time.Now()
		extending, cancel := context.WithDeadline(ctx, cutoff)
		err := r.ledger.Extend(extending, lease)
		cancel()
		switch {
		case err == nil:
			granted, next = asked, asked.Add(ttl-ttl/3)
		case errors.Is(err, ledger.ErrLeaseLost):
			end(err)
			return
		default:
			if next = time.Now().Add(ttl / 30); next.Before(cutoff) {
				continue
			}
			if wait(ctx, time.Until(cutoff)) {
				end(fmt.Errorf("%w: %w", errLeaseEnds, err))
			}
			return
		}
	}
}

// wait reports whether d passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
