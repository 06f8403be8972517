package actions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// advance takes the next steps of a job, as the look-up of a pass does.
func (a *Actions) advance(ctx context.Context, key operation.Key) (ledger.Receipt, string, error) {
	advanced, err := a.Ledger.Jobs.Advance(ctx, key)
	if err != nil {
		return ledger.Receipt{}, "", err
	}
	rec, err := a.Ledger.Operations.Read(ctx, key)
	if err != nil {
		return ledger.Receipt{}, "", err
	}
	receipt := ledger.Receipt{
		Key: key, State: rec.State, Registered: true, Settled: advanced.Settled, PublishErr: advanced.PublishErr,
	}
	return receipt, fmt.Sprintf("%s is %s: %s taken", phrase.Safe(string(key)), rec.State,
		phrase.Counted(advanced.Steps, "step")), nil
}

// cancelJob records who cancels a job, and why. The workers ask Gemini to cancel its batches.
func (a *Actions) cancelJob(ctx context.Context, key operation.Key, d ledger.Decision) (Decision, string, error) {
	stands, words, err := a.decide(ctx, d, "the cancellation of "+string(key), "requested",
		func() (operation.Decided, error) { return a.Ledger.Jobs.Cancel(ctx, key, d) })
	if err != nil {
		return Decision{}, "", err
	}
	return stands, words + "; no further batch is started, those that run are cancelled at Gemini, and what succeeded " +
		"is kept", nil
}

// Pause records who pauses a job, and why: it starts nothing until someone resumes it [J11]. It says which pause
// stands, which may be an earlier one.
func (a *Actions) Pause(ctx context.Context, key operation.Key, d ledger.Decision) (Decision, string, error) {
	stands, words, err := a.decide(ctx, d, string(key), "paused", func() (operation.Decided, error) {
		hold, err := a.Ledger.Jobs.Pause(ctx, key, d)
		return hold.Decided, err
	})
	if err != nil {
		return Decision{}, "", err
	}
	return stands, words + "; nothing more is started until opledger resume " + phrase.ShellWord(string(key)) +
		a.StoreFlag + "; what runs goes on, and is collected", nil
}

// Resume records who lets a job go on that is held, and why. Of one that is not held nothing is recorded.
func (a *Actions) Resume(ctx context.Context, key operation.Key, d ledger.Decision) (Decision, string, error) {
	before, err := a.Ledger.Jobs.Read(ctx, key)
	if err != nil {
		return Decision{}, "", err
	}
	if before.Hold == nil {
		return Decision{}, phrase.Safe(string(key)) + " is not held: there is nothing to resume", nil
	}
	if err := a.Ledger.Jobs.Resume(ctx, key, d); err != nil {
		return Decision{}, "", err
	}
	after, err := a.Ledger.Jobs.Read(ctx, key)
	if err != nil || after.Resumed == nil { // held again, or not resumed by a writer that knows no holds
		return Decision{}, "", err
	}
	return a.decide(ctx, d, string(key), "resumed", func() (operation.Decided, error) { return *after.Resumed, nil })
}

// Change sets limits of a job while it runs, and records who did and why.
func (a *Actions) Change(
	ctx context.Context, key operation.Key, limits job.Limits, d ledger.Decision,
) (job.Job, string, error) {
	before, err := a.Ledger.Jobs.Read(ctx, key)
	if err != nil {
		return job.Job{}, "", err
	}
	j, err := a.Ledger.Jobs.Change(ctx, key, limits, d)
	switch {
	case err != nil:
		return job.Job{}, "", err
	case before.Options.Same(j.Options):
		return j, phrase.Safe(string(key)) + " has these limits already: nothing was changed", nil
	}
	return j, phrase.Safe(string(key)) + ": " + phrase.Changed(j.Changes[len(j.Changes)-1]), nil
}

// Redrive makes a job of the requests of one that has ended which are not done, with its options but the deadline
// [J14]. Calling it again starts nothing twice.
func (a *Actions) Redrive(ctx context.Context, key operation.Key, d ledger.Decision) (operation.Key, string, error) {
	old, err := a.Ledger.Jobs.Read(ctx, key)
	if err != nil {
		return "", "", err
	}
	rec, err := a.Ledger.Operations.Read(ctx, key)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) { // a record expires before its job does
		return "", "", err
	}
	again, err := operation.JobKey(old.RedriveID())
	if err != nil {
		return "", "", err
	}
	s, err := a.Storage(old.Storage)
	if err != nil {
		return "", "", fmt.Errorf("opening the job storage of %s: %w", key, err)
	}
	request := ledger.JobRequest{
		Key: again, Submission: operation.Submission{JobKind: old.JobKind, Metadata: rec.Metadata}, Options: old.Options,
		Redrive: ledger.Redriving{Of: key, Outcomes: job.NotDone(), Decision: d},
	}
	request.Options.Deadline = time.Time{}
	made, err := files.Redrive(ctx, a.Ledger, s, request)
	if err != nil {
		return "", "", err
	}
	return again, fmt.Sprintf("%s has the %s of %s that are not done", again,
		phrase.Amount(made.Job.Input.Requests, "request"), phrase.Safe(string(key))), nil
}

// AboutRelease says what the release of a part means, for the question before it.
const AboutRelease = "Its batch is cancelled at Gemini and its result is never collected. Its requests are sent " +
	"again in another batch: what the first one has done is paid twice"

// Release records that the batch of a part is given up [J6], so that its requests go into a new part. It says
// which decision stands, which may be an earlier one.
func (a *Actions) Release(ctx context.Context, part operation.Key, d ledger.Decision) (Decision, string, error) {
	stands, words, err := a.decide(ctx, d, string(part), "released", func() (operation.Decided, error) {
		return a.Ledger.Jobs.Release(ctx, part, d)
	})
	if errors.Is(err, ledger.ErrNotRunning) {
		err = fmt.Errorf("%w; opledger show %s%s shows it, and there is nothing to release", err,
			phrase.ShellWord(string(part)), a.StoreFlag)
	}
	return stands, words, err
}
