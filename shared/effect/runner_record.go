package effect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// finish records that the effect happened, in one commit with the handler's documents. Documents
// that can never be written make it dead, since another attempt would only perform it again.
// Documents that lost a race release it for another attempt.
func (r *Runner) finish(ctx context.Context, report *Report, extra []ledger.Write) error {
	report.Outcome = Finished
	err := Insist(ctx, func(ctx context.Context) error { return r.ledger.Effects.Finish(ctx, report.Lease, extra...) })
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
	return Insist(ctx,
		func(ctx context.Context) error { return r.ledger.Effects.MarkDead(ctx, report.Lease, report.Cause) })
}

// release records that the attempt failed, which may be the last that the effect has.
func (r *Runner) release(ctx context.Context, report *Report) error {
	var failure ledger.Failure
	err := Insist(ctx, func(ctx context.Context) (err error) {
		failure, err = r.ledger.Effects.Release(ctx, report.Lease, report.Cause, RetryDelay(report.Cause))
		return err
	})
	report.Outcome, report.RetryAfter = Failed, failure.Wait
	report.FailingSince, report.Alert = failure.Since, failure.Alert
	if failure.Dead {
		report.Outcome, report.Cause = Died, givenUpError{failure.LastError, report.Cause}
	}
	return err
}

// A givenUpError says why an effect is given up after a failure like those before.
type givenUpError struct {
	why   string
	cause error
}

func (e givenUpError) Error() string { return e.why }

func (e givenUpError) Unwrap() error { return e.cause }

// handOn records that the rest of the effect is another worker's. The message for that worker may
// not have been published: then the sweep sends one, and the cause says why.
func (r *Runner) handOn(ctx context.Context, report *Report) error {
	report.Outcome = Continued
	return Insist(ctx, func(ctx context.Context) (err error) {
		report.Cause, err = r.ledger.Effects.Continue(ctx, report.Lease)
		return err
	})
}

// postpone records that the effect cannot be run now.
func (r *Runner) postpone(ctx context.Context, report *Report, after time.Duration) error {
	report.Outcome, report.RetryAfter = Postponed, after
	return Insist(ctx, func(ctx context.Context) error {
		return r.ledger.Effects.Postpone(ctx, report.Lease, report.Cause, after)
	})
}

// RecordTimeout bounds the recording of an outcome after the caller's context has ended.
const RecordTimeout = 10 * time.Second

// Insist retries a record every 200 ms for RecordTimeout while the store is unavailable or
// contended. A short outage must not repeat an effect that is known to have happened. After the
// time has run out the error includes the store's own.
func Insist(ctx context.Context, record func(context.Context) error) error {
	const pause = 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, RecordTimeout)
	defer cancel()
	var refused error
	for {
		err := record(ctx)
		again := errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrContention)
		switch {
		case !again && refused != nil && ctx.Err() != nil:
			return fmt.Errorf("%w (%w)", refused, err)
		case !again || !Wait(ctx, pause):
			return err
		}
		refused = err
	}
}
