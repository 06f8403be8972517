package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// Cancel records that an operator cancels a job, and advances it: nothing more is started, Gemini is asked
// to cancel what runs, and what succeeded is kept. Success wins a race. It returns the request that stands.
// Errors: ErrNoJob; ErrSettled; ErrNoReason; else as Ingest. Calling it again is safe.
func (l Jobs) Cancel(ctx context.Context, key operation.Key, d Decision) (operation.Decided, error) {
	var stands operation.Decided
	err := l.decide(ctx, "cancelling ", key, d, func(j *job.Job, by *operation.Decided) (changed bool) {
		if changed = j.Cancelled == nil; changed {
			j.Cancelled = by
		}
		stands = *j.Cancelled
		return changed
	})
	return stands, err
}

// Pause holds a job until someone resumes or cancels it: nothing more is started, and what runs is collected
// [J11]. It returns the hold that stands, which may be another's; one by cost does not, because it ends by itself.
// Errors: as Cancel. Calling it again is safe.
func (l Jobs) Pause(ctx context.Context, key operation.Key, d Decision) (job.Hold, error) {
	var stands job.Hold
	err := l.decide(ctx, "pausing ", key, d, func(j *job.Job, by *operation.Decided) (changed bool) {
		if changed = j.Hold == nil || j.Hold.Reason == job.HeldByCost; changed {
			j.Hold = &job.Hold{Reason: job.HeldByOperator, Decided: *by}
		}
		stands = *j.Hold
		return changed
	})
	return stands, err
}

// Resume lets a job go on that is held, for whatever reason, and advances it. Errors: as Cancel. Calling it again
// is safe: a job that is not held stays as it is.
func (l Jobs) Resume(ctx context.Context, key operation.Key, d Decision) error {
	return l.decide(ctx, "resuming ", key, d, func(j *job.Job, by *operation.Decided) (changed bool) {
		if changed = j.Hold != nil; changed {
			j.Hold, j.Resumed, j.SteppedAt = nil, by, by.At // it is not stuck since before
		}
		return changed
	})
}

// Change sets limits of a job while it runs, and advances it. What runs goes on, and the options that it was
// submitted with stay those of its id [J1]. It returns the job as it is then. Errors: operation.ErrSubmission; else as
// Cancel. Calling it again is safe, and changes nothing.
func (l Jobs) Change(ctx context.Context, key operation.Key, limits job.Limits, d Decision) (job.Job, error) {
	now, err := l.now(ctx)
	if err == nil {
		err = limits.Problems(now).Err()
	}
	if err != nil {
		return job.Job{}, err
	}
	var stands job.Job
	err = l.decide(ctx, "changing ", key, d, func(j *job.Job, by *operation.Decided) (changed bool) {
		changed = j.Change(limits, *by)
		stands = *j
		return changed
	})
	return stands, err
}

// Alerted records that an alert has said that a job is held since a time, so that no other does. Errors: ErrNoJob;
// else as Ingest. Calling it again is safe: another hold stays as it is.
func (l Jobs) Alerted(ctx context.Context, key operation.Key, since time.Time) error {
	return l.retry(ctx, "recording an alert about "+string(key), func(int) error {
		j, _, err := l.job(ctx, key)
		if err != nil || j.Hold == nil || j.Hold.Alerted || !j.Hold.At.Equal(since) {
			return err
		}
		j.Hold.Alerted = true
		return l.commit(ctx, j.Write())
	})
}

// decide changes a job on an operator's decision, and advances it. change reports whether it changed anything.
func (l Jobs) decide(
	ctx context.Context, doing string, key operation.Key, d Decision, change func(*job.Job, *operation.Decided) bool,
) error {
	err := l.retry(ctx, doing+string(key), func(int) error {
		j, snapshot, err := l.job(ctx, key)
		switch {
		case err != nil:
			return err
		case d.Why == "":
			return ErrNoReason
		case !change(&j.Job, d.at(snapshot.ReadTime)):
			return nil
		case j.Phase == job.Finishing || j.Phase == job.Ended:
			return fmt.Errorf("%w: its batches have all ended", ErrSettled)
		}
		return l.commit(ctx, j.Write())
	})
	if err != nil {
		return err
	}
	_, err = l.Advance(ctx, key)
	return err
}

// Release gives up the batch of a part, on an operator's decision: its requests go into a new part, and
// Gemini is asked to cancel the batch, whose result is never collected [J6]. What it did meanwhile is paid
// for twice. A batch that may have been created, and that no list has shown yet, is given up in the same way.
//
// Errors: ErrNoJob; ErrNoReason; ErrNotRunning; else as Ingest. Calling it again is safe.
func (l Jobs) Release(ctx context.Context, part operation.Key, d Decision) (operation.Decided, error) {
	var stands operation.Decided
	err := l.retry(ctx, "releasing "+string(part), func(int) error {
		p, _, err := l.Part(ctx, part)
		switch {
		case err != nil:
			return err
		case d.Why == "":
			return ErrNoReason
		case p.Released != nil:
			stands = *p.Released
			return nil
		}
		if err := l.releasable(ctx, p.Part); err != nil {
			return err
		}
		now, err := l.now(ctx)
		if err != nil {
			return err
		}
		p.Released = d.at(now)
		stands = *p.Released
		return l.commit(ctx, p.Write())
	})
	if err != nil {
		return stands, err
	}
	of, _, _ := operation.ParsePart(string(part))
	_, err = l.Advance(ctx, of)
	return stands, err
}

// releasable returns nil for a part that has a batch, or may have one that nothing has shown yet, and for one
// whose start is DEAD.
func (l *protocol) releasable(ctx context.Context, p job.Part) error {
	if p.State == job.Started || p.State == job.Starting && p.Waits == job.WaitsForIntent {
		return nil
	}
	if p.State == job.Starting {
		start, _, err := l.effect(ctx, EffectPath(p.Key, job.StepStart))
		if err != nil || start.State == EffectDead {
			return err
		}
	}
	return fmt.Errorf("%w: it is %s", ErrNotRunning, p.State)
}
