package steps

import (
	"context"
	"errors"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

const (
	// whileRefused is after what time a creation is tried again that Gemini refuses for now.
	whileRefused = time.Minute
	// whileDenied is after what time a creation is tried again that needs an operator.
	whileDenied = 5 * time.Minute
	// whileFailing is after what time Gemini is asked again that failed. It is doubled up to whileDenied.
	whileFailing = 10 * time.Second
	// alertRefused is how long Gemini takes no further batch before an alert.
	alertRefused = 6 * time.Hour
)

// refused puts the start off after a refusal that says nothing about the requests.
func (s *starting) refused(ctx context.Context, cause error) error {
	switch batches.CauseOf(cause) {
	case batches.RateLimited:
		after := s.paced(whileRefused)
		if answer, ok := errors.AsType[*api.Error](cause); ok {
			after = max(after, min(answer.RetryAfter, effect.MaxRetryAfter))
		}
		s.alertRefused(ctx, cause, after)
		return s.wait(ctx, job.WaitsForQuota, cause, after)
	case batches.Denied:
		return s.denied(ctx, cause)
	default:
		after := s.paced(whileFailing)
		if s.part.Waits == job.WaitsForGemini {
			after = min(max(after, s.Now().Sub(s.part.WaitsSince)), s.paced(whileDenied))
		}
		return s.wait(ctx, job.WaitsForGemini, cause, after)
	}
}

// denied puts the start off until an operator has acted, who is alerted once.
func (s *starting) denied(ctx context.Context, cause error) error {
	if s.part.Waits != job.WaitsForAccess {
		s.Log.ErrorContext(ctx, "Gemini refuses to start the batches of a job: is this the right project's key?",
			"event", "alert", "reason", "job-denied", "operation", s.job.Key, "part", s.part.Key, "error", cause)
	}
	return s.wait(ctx, job.WaitsForAccess, cause, s.paced(whileDenied))
}

// alertRefused alerts that Gemini takes no further batch for long: once, as attempts come about every
// interval, or after as long as Gemini asks for.
func (s *starting) alertRefused(ctx context.Context, cause error, after time.Duration) {
	late := s.Now().Sub(s.part.WaitsSince) - alertRefused
	if s.part.Waits == job.WaitsForQuota && late >= 0 && late < max(after, s.Ledger.Settings().Interval) {
		s.Log.ErrorContext(ctx, "Gemini takes no further batch of a job for a long time", "event", "alert",
			"reason", "job-quota", "operation", s.job.Key, "part", s.part.Key, "since", s.part.WaitsSince, "error", cause)
	}
}

// wait records what the start waits for, and puts it off.
func (s *starting) wait(ctx context.Context, reason job.Wait, cause error, after time.Duration) error {
	if s.part.Waits != reason {
		s.part.Waits, s.part.WaitsSince = reason, operation.Instant(s.Now())
		if _, err := s.Ledger.Jobs.Save(ctx, s.task.Lease, s.part); err != nil {
			return err
		}
	}
	return effect.Postpone(cause, after)
}
