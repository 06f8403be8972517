package effect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// A Runner runs the effects that messages name. It is safe for concurrent use.
type Runner struct {
	ledger   *ledger.Ledger
	handlers map[string]Handler
}

// NewRunner returns a Runner with a handler for each effect, by the name of its rule. Every run of
// a rule, such as "page@stuck-1", has the rule's handler.
func NewRunner(l *ledger.Ledger, handlers map[string]Handler) *Runner {
	return &Runner{ledger: l, handlers: handlers}
}

// Run claims the effect that m names, performs it, and records the outcome: the only way in which
// side effects happen [S1]. An error means that the ledger could not be read or written; then, and
// where Report.Again is true, the message must be redelivered. Every failure of a handler is in
// the Report.
func (r *Runner) Run(ctx context.Context, m ledger.Message) (Report, error) {
	return r.handle(ctx, m, r.claim)
}

// handle records what m asks for, and lets then decide about its effect. It turns the error about a document of a
// newer revision into a Report, where nothing was attempted [L6]. A redelivery would not help: the sweep of that
// revision publishes the effect again. What an operator's message asks for is redelivered, unless it has been recorded.
func (r *Runner) handle(
	ctx context.Context, m ledger.Message,
	then func(context.Context, ledger.Message, Handler, Report) (Report, error),
) (report Report, err error) {
	if handler, known := r.handlers[ledger.RuleOf(m.Effect)]; !known {
		report, err = r.unknown(ctx, m)
	} else if report, err = r.recordRequest(ctx, m); err == nil && report.Outcome != Skipped {
		report, err = then(ctx, m, handler, report)
	}
	if report.Outcome != "" || !errors.Is(err, ledger.ErrNewer) {
		return report, err
	}
	report.Outcome, report.Cause = Newer, err
	if m.FromOperator() && report.Replay.Effect == "" {
		report.RetryAfter = unknownRetry
	}
	return report, nil
}

// claim claims the effect, and makes an attempt if that succeeded.
func (r *Runner) claim(ctx context.Context, m ledger.Message, handler Handler, report Report) (Report, error) {
	began := time.Now()
	grant, err := r.ledger.Effects.Claim(ctx, m.Operation, report.Replay.Effect)
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

// attempt performs the effect under its lease and records the outcome. It records it even if ctx
// has ended meanwhile, because an effect that happened without a record is repeated.
func (r *Runner) attempt(ctx context.Context, handler Handler, report Report, began time.Time) (Report, error) {
	lease := report.Lease
	extra, cause := r.perform(ctx, handler, lease, began)
	stopped := cause != nil && (errors.Is(context.Cause(ctx), ErrStopped) || errors.Is(cause, ErrStopped))
	ctx = context.WithoutCancel(ctx)
	var err error
	report.Cause = cause
	postponed, putOff := errors.AsType[postponedError](cause)
	switch {
	case cause == nil:
		err = r.finish(ctx, &report, extra)
		if follower, ok := handler.(Follower); ok && err == nil && report.Outcome == Finished {
			report.FollowErr = follower.Follow(ctx, lease)
		}
	case IsPermanent(cause):
		err = r.markDead(ctx, &report)
	case stopped, errors.Is(cause, ErrContinue):
		report.Stopped = stopped
		err = r.handOn(ctx, &report)
	case putOff:
		err = r.postpone(ctx, &report, postponed.after)
	default:
		err = r.release(ctx, &report)
	}
	if errors.Is(err, ledger.ErrLeaseLost) {
		report.Outcome, report.Cause = LeaseLost, errors.Join(report.Cause, err)
		return report, nil
	}
	return report, err
}

// perform calls the handler with a context that ends while the lease is surely still held. Where the
// claim's answer came too late for that, it calls no handler [S6].
func (r *Runner) perform(ctx context.Context, handler Handler, lease ledger.Lease, began time.Time) (
	extra []ledger.Write, err error,
) {
	if !time.Now().Before(began.Add(r.heldFor())) {
		return nil, ErrLeaseEnds
	}
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
