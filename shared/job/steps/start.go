package steps

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// start uploads the requests of a part, and creates its batch through an intent [J3]. Its order is: upload,
// record the file, renew the intent, count the creation, create, register. Where an earlier attempt may have
// created the batch, it waits until an event or Gemini's list has decided that.
func (o Options) start(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
	p, j, err := o.part(ctx, task.Operation)
	if err != nil {
		return nil, err
	}
	s := starting{Options: o, task: task, part: p, job: j.Job, at: j.At, ready: j.Starts() && !j.Late(j.At)}
	switch {
	case p.Released != nil:
		return s.released(ctx)
	case p.State != job.Starting:
		return nil, nil
	}
	return s.run(ctx)
}

// A starting is one attempt at a start.
type starting struct {
	Options
	task     effect.Task
	part     ledger.StoredPart
	job      job.Job
	at       time.Time // when both were read, by the ledger's clock
	ready    bool      // the job might start this batch as the attempt began, so that its file is at Gemini
	uploaded bool      // by this attempt
}

func (s *starting) run(ctx context.Context) ([]ledger.Write, error) {
	if s.part.TooLarge && s.ready {
		return s.divide(ctx)
	}
	known, err := s.Ledger.Intents.Read(ctx, string(s.part.Key))
	switch {
	case err == nil && known.State == ledger.IntentBound:
		return s.started(known.Operation), nil
	case err != nil && !errors.Is(err, ledger.ErrNoIntent):
		return nil, err
	case s.ready:
		if err := s.place(ctx); err != nil {
			return nil, err
		}
		if err != nil { // there is no intent, and so no batch
			if writes, err := s.refuse(ctx); err != nil || writes != nil {
				return writes, err
			}
		}
		if err := s.upload(ctx); err != nil {
			return nil, err
		}
	}
	within, cancel := context.WithTimeout(ctx, ledger.SubmitWithin) // begins no later than the attempt [G6]
	defer cancel()
	_, j, err := s.Ledger.Jobs.Part(ctx, s.part.Key) // as late as can be: nothing is created after a stop [J11, J12]
	if err != nil {
		return nil, err
	}
	s.job = j.Job
	// A claim is one attempt: the same claim that asks again may create within the same two minutes.
	attempt := s.task.Owner
	intent, err := s.Ledger.Jobs.Announce(ctx, s.part.Part, s.job, attempt)
	switch {
	case err != nil:
		return nil, err
	case intent.Verdict == ledger.IsBound:
		return s.started(intent.Operation), nil
	case intent.Verdict == ledger.MustWait:
		return nil, s.wait(ctx, job.WaitsForIntent, fmt.Errorf("a batch of %s may have been created", s.part.Key),
			max(intent.WaitFor, s.paced(whileFailing)))
	case s.job.Ending(), j.Late(j.At):
		return s.giveUp(ctx, attempt)
	case s.job.Hold != nil, !s.ready:
		return nil, s.held(ctx, attempt)
	}
	return s.create(ctx, within, attempt)
}

// create counts a creation, and makes it while within holds.
func (s *starting) create(ctx, within context.Context, attempt string) (_ []ledger.Write, err error) {
	if s.part.Creations-s.part.Declined >= mostCreations {
		return s.drop(ctx, attempt)
	}
	s.part.Creations++
	if s.part.Waits == job.WaitsForIntent { // else a release could give it up while it is created
		s.part.Waits, s.part.WaitsSince = "", time.Time{}
	}
	if s.part, err = s.Ledger.Jobs.Save(ctx, s.task.Lease, s.part); err != nil {
		return nil, err
	}
	name, err := s.Batches.Create(within, batches.Request{
		Model: s.job.Options.Model, Embed: s.job.Options.Embed, File: s.part.Files[len(s.part.Files)-1].Name,
		CorrelationID: string(s.part.Key),
	})
	if err != nil {
		return s.notCreated(ctx, attempt, err)
	}
	registered, err := s.Ledger.Jobs.Bind(ctx, s.part.Part, s.job, name)
	if err != nil {
		return nil, err
	}
	if registered.CorrelationErr == nil {
		return s.started(name.Key), nil
	}
	intent, err := s.Ledger.Intents.Read(ctx, string(s.part.Key))
	if err != nil {
		return nil, err
	}
	if err := s.twin(ctx, name, intent.Operation); err != nil {
		return nil, err
	}
	return s.started(intent.Operation), nil
}

// twin makes a second batch of the part known, so that it is counted, and has Gemini cancel it: it is never
// collected [J2].
func (s *starting) twin(ctx context.Context, name operation.Name, other operation.Key) error {
	receipt, err := s.Ledger.Operations.Ingest(ctx, operation.Event{
		Name: name, CorrelationID: string(s.part.Key), DeliveryID: "twin", Source: operation.Reconcile,
		State: operation.Pending,
	})
	if err != nil {
		return err
	}
	cancelErr := s.Canceller.Cancel(ctx, name)
	if receipt.Twin || cancelErr != nil {
		s.Log.ErrorContext(ctx, ledger.TwinMessage+"; Gemini was asked to cancel it", "event", "alert", "reason", "twin",
			"operation", name.Key, "part", s.part.Key, "batch", other, "error", cancelErr)
	}
	return nil
}

// notCreated decides what becomes of a creation that failed.
func (s *starting) notCreated(ctx context.Context, attempt string, cause error) (_ []ledger.Write, err error) {
	cause = fmt.Errorf("creating the batch of %s: %w", s.part.Key, cause)
	why := batches.CauseOf(cause)
	if why == batches.Ambiguous {
		return nil, s.wait(ctx, job.WaitsForIntent, cause, s.paced(whileFailing))
	}
	if _, err := s.Ledger.Jobs.Withdraw(ctx, s.part.Part, attempt); err != nil {
		return nil, err
	}
	if why != batches.Invalid {
		s.part.Declined++
		if s.part, err = s.Ledger.Jobs.Save(ctx, s.task.Lease, s.part); err != nil {
			return nil, err
		}
	}
	switch why {
	case batches.Invalid:
		s.part.Problem = diag.Cut(cause.Error(), maxProblem)
		return s.cutUp(ctx, s.task, s.job, s.part, mostPieces)
	case batches.FileGone:
		return nil, s.fileGone(ctx, cause)
	case batches.RateLimited:
		if s.part.TooLarge, err = s.Ledger.Jobs.TooLarge(ctx, s.job, s.part.Part); err != nil {
			return nil, err
		}
		if s.part.TooLarge {
			return s.divide(ctx)
		}
	}
	return nil, s.refused(ctx, cause)
}

// mostCreations bounds the requests that may have created the batch of a part, or were refused for what is in
// it [J5].
const mostCreations = 64

// drop ends a part of which no batch came in so many creations: its requests have failed.
func (s *starting) drop(ctx context.Context, attempt string) ([]ledger.Write, error) {
	if _, err := s.giveUp(ctx, attempt); err != nil {
		return nil, err
	}
	s.part.State, s.part.WaitingSince = job.Dropped, time.Time{}
	s.part.Problem = fmt.Sprintf("no batch came of %d creations", mostCreations)
	return []ledger.Write{s.part.Write()}, nil
}

// started returns the write of a part whose batch Gemini has.
func (s *starting) started(batch operation.Key) []ledger.Write {
	s.part.State, s.part.Batch, s.part.StartedAt = job.Started, batch, operation.Instant(s.Now())
	if most := s.job.Options.CancelAfter(); most > 0 {
		s.part.CancelAt = s.part.StartedAt.Add(most)
	}
	s.part.Waits, s.part.WaitsSince = "", time.Time{}
	return []ledger.Write{s.part.Write()}
}

// giveUp returns the part of a job that ends to those that wait: no batch was created, and none will be.
func (s *starting) giveUp(ctx context.Context, attempt string) ([]ledger.Write, error) {
	if _, err := s.Ledger.Jobs.Withdraw(ctx, s.part.Part, attempt); err != nil {
		return nil, err
	}
	s.deleteInputs(ctx, s.part.Part)
	s.part.State, s.part.Waits, s.part.WaitsSince = job.Planned, "", time.Time{}
	return []ledger.Write{s.part.Write()}, nil
}

// maxProblem bounds what a part keeps of a refusal, in bytes.
const maxProblem = 500

// divide returns the write of a part that is too large for its model's quota of tokens: it is cut into as many pieces
// as that asks for, and costs no attempt.
func (s *starting) divide(ctx context.Context) ([]ledger.Write, error) {
	allowed, err := s.Ledger.Jobs.Allowed(ctx, s.job.Options.Model)
	if err != nil {
		return nil, err
	}
	return s.cutUp(ctx, s.task, s.job, s.part, s.job.PiecesOf(s.part.Part, allowed, mostPieces))
}
