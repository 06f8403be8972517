package steps

import (
	"context"
	"errors"
	"fmt"
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
	// keepFor is how long a part keeps its place among the batches that run while Gemini takes nothing of it.
	keepFor = 10 * time.Minute
	// alertAfter is for how long a start is put off before an alert.
	alertAfter = 6 * time.Hour
)

// place makes sure that the part has its place among the batches that run, with the tokens that it needs: nothing of it
// is sent before [J10]. A part that was set aside may get one now.
func (s *starting) place(ctx context.Context) error {
	if !s.part.SetAside() {
		return nil
	}
	if _, err := s.Ledger.Jobs.Advance(ctx, s.job.Key); err != nil {
		return err
	}
	p, j, err := s.Ledger.Jobs.Part(ctx, s.part.Key)
	if err != nil {
		return err
	}
	if s.part, s.job, s.at = p, j.Job, j.At; p.SetAside() {
		return effect.Postpone(fmt.Errorf("%s has no place among the batches that run", p.Key), s.paced(whileRefused))
	}
	return nil
}

// refused puts the start off after a refusal that says nothing about the requests.
func (s *starting) refused(ctx context.Context, cause error) error {
	switch batches.CauseOf(cause) {
	case batches.RateLimited:
		after := s.paced(whileRefused)
		if answer, ok := errors.AsType[*api.Error](cause); ok {
			after = max(after, min(answer.RetryAfter, effect.MaxRetryAfter))
		}
		if batches.AboutStorage(cause.Error()) {
			return s.wait(ctx, job.WaitsForStorage, cause, after)
		}
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

// alertLate alerts once that the start is put off for long. That access is refused was alerted at once.
func (s *starting) alertLate(ctx context.Context, cause error) bool {
	if s.part.Waits == job.WaitsForAccess || s.part.Alerted || s.Now().Sub(s.part.PutOffSince) < alertAfter {
		return false
	}
	reason := "job-failing"
	switch s.part.Waits {
	case job.WaitsForQuota:
		reason = "job-quota"
	case job.WaitsForStorage:
		reason = "job-storage"
	}
	s.Log.ErrorContext(ctx, "the start of a job's batch is put off for a long time", "event", "alert", "reason", reason,
		"operation", s.job.Key, "part", s.part.Key, "since", s.part.PutOffSince, "error", cause)
	s.part.Alerted = true
	return true
}

// held puts the start off until the job is no longer held: no batch was created, and none is until then [J11].
func (s *starting) held(ctx context.Context, attempt string) (err error) {
	if _, err := s.Ledger.Jobs.Withdraw(ctx, s.part.Part, attempt); err != nil {
		return err
	}
	if s.part.Waits != job.WaitsForResume || !s.part.Aside {
		s.part.Waits, s.part.WaitsSince, s.part.Aside = job.WaitsForResume, operation.Instant(s.Now()), true
		s.part.PutOffSince = time.Time{} // by nothing that an operator would be alerted to
		if s.part, err = s.Ledger.Jobs.Save(ctx, s.task.Lease, s.part); err != nil {
			return err
		}
	}
	return effect.Postpone(fmt.Errorf("%s is held", s.job.Key), s.paced(whileRefused))
}

// wait records what the start waits for, and puts it off.
func (s *starting) wait(ctx context.Context, reason job.Wait, cause error, after time.Duration) (err error) {
	changed, now := s.part.Waits != reason, operation.Instant(s.Now())
	if changed {
		s.part.Waits, s.part.WaitsSince = reason, now
	}
	if s.part.PutOffSince.IsZero() {
		s.part.PutOffSince = now
	}
	declined := reason != job.WaitsForIntent // no batch was created
	if declined && now.Sub(s.part.WaitsSince) >= keepFor && now.Sub(s.part.PlacedAt) >= keepFor {
		s.part.Aside, changed = true, true
	}
	if s.alertLate(ctx, cause) || changed {
		if s.part, err = s.Ledger.Jobs.Save(ctx, s.task.Lease, s.part); err != nil {
			return err
		}
	}
	return effect.Postpone(cause, after)
}
