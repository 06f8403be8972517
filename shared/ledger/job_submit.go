package ledger

import (
	"context"
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// A JobRequest is a job as its submitter wants it.
type JobRequest struct {
	Key operation.Key // of operation.JobKey
	// Submission has no correlation id: the job's key is its id.
	operation.Submission
	Options job.Options
	Input   job.Input // its object is in Storage already
	Storage string    // as job storage names itself
	// Redrive says of which job that has ended the input is; zero: of none.
	Redrive Redriving
}

// Validate returns every problem of the request.
func (r JobRequest) Validate() operation.Problems {
	problems := append(r.Submission.Validate(), r.Options.WithDefaults().Problems()...)
	_, err := operation.JobKey(r.Key.ID())
	problems.When(err != nil || r.Key.Collection() != operation.Jobs, "id", "%w", operation.ErrJobID)
	problems.When(r.CorrelationID != "", "correlationId", "a job has none: its id identifies it")
	problems.When(r.Input.Requests < 1 || r.Input.Bytes < 1 || r.Input.SHA256 == "" || r.Input.Object == "", "input",
		"it must have an object, a size, a number of requests and a SHA-256")
	return append(problems, r.Redrive.Problems()...)
}

// JobSubmitted is the result of Submit.
type JobSubmitted struct {
	Job     job.Job
	Created bool // whether this call created it
	// PublishErr: as in Receipt.
	PublishErr error
}

// Submit creates a job: its plan, its record, which is pending until the job ends, and its first step, in
// one commit. The same id with the same input and options is the same job, and creates nothing [J1]. The commit of a
// redrive is recorded in the job that it redrives, too [J14].
//
// Errors: operation.ErrSubmission; ErrJobDiffers, which says in what; of a redrive ErrNoJob, ErrNoReason and
// job.ErrNoRedrive; else as Ingest. Calling it again is safe.
func (l Jobs) Submit(ctx context.Context, r JobRequest) (JobSubmitted, error) {
	if err := r.Validate().Err(); err != nil {
		return JobSubmitted{}, err
	}
	r.Options = r.Options.WithDefaults()
	if err := l.priced(r.Options).Err(); err != nil {
		return JobSubmitted{}, err
	}
	var result JobSubmitted
	var messages []Message
	created := false // perhaps by a commit whose answer was lost
	err := l.retry(ctx, "submitting "+string(r.Key), func(int) error {
		snapshot, err := l.store.Get(ctx, append([]Path{JobPath(r.Key), OperationPath(r.Key)}, r.Redrive.paths()...)...)
		if err != nil {
			return err
		}
		docs, now := snapshot.Documents, operation.Instant(snapshot.ReadTime)
		if docs[0].Exists() {
			before, err := readJob(docs[0])
			if err != nil {
				return err
			}
			result = JobSubmitted{Job: before.Job, Created: created}
			return r.Differs(before.Job)
		}
		if err := r.Options.ProblemsAt(now).Err(); err != nil {
			return err
		}
		rec, err := l.readRecord(docs[1])
		if err == nil && rec.Settled() { // its plan has expired, or is forgotten, and its record is not yet
			err = fmt.Errorf("%w, which is %s; give this one another id, or forget that one", ErrJobDiffers, rec.State)
		}
		if err == nil {
			rec, err = l.merge(rec, Registration{
				Name: operation.Name{Key: r.Key, Resource: string(r.Key)}, Submission: r.Submission, SubmittedAt: now,
			}, now)
		}
		if err != nil {
			return err
		}
		p := plan{record: rec}
		if err := p.add(l.protocol, job.StepSplit, nil, now); err != nil {
			return err
		}
		_, write := l.writeRecord(docs[1], p.record, now)
		j := StoredJob{doc: docs[0], Job: job.Job{
			Key: r.Key, Options: r.Options, Input: r.Input, Storage: r.Storage, JobKind: r.JobKind, Phase: job.Splitting,
			Redrives: r.Redrive.Of, CreatedAt: now, SteppedAt: now, Price: l.settings.Prices.Of(r.Options.Model),
		}}
		plan := j.Write()
		redriven, err := r.Redrive.write(docs[2:], r.Key, now)
		if err != nil {
			return err
		}
		result, messages, created = JobSubmitted{Job: plan.Data.(job.Job), Created: true}, p.messages, true
		return l.commit(ctx, append(append(p.writes, write, plan), redriven...)...)
	})
	if err != nil {
		return JobSubmitted{}, err
	}
	result.PublishErr = l.send(ctx, messages)
	return result, nil
}

// priced returns what is wrong with options that limit a cost which cannot be known.
func (l *protocol) priced(o job.Options) (problems operation.Problems) {
	problems.When(o.MaxCost > 0 && l.settings.Prices.Of(o.Model) == nil, "maxCost",
		"%s has no price in OPLEDGER_PRICES, so that it cannot be kept; add one", o.Model)
	return problems
}

// Differs returns ErrJobDiffers where the request is for another job than the one that has its id.
func (r JobRequest) Differs(before job.Job) error {
	if before.Input.SHA256 != r.Input.SHA256 {
		return fmt.Errorf("%w: its input has the SHA-256 %s, this one %s; give this one another id",
			ErrJobDiffers, before.Input.SHA256, r.Input.SHA256)
	}
	if names := before.AsSubmitted().Differences(r.Options); len(names) > 0 {
		return fmt.Errorf("%w: the input is the same, and these options differ: %s; give this one another id, or the "+
			"same options", ErrJobDiffers, strings.Join(names, ", "))
	}
	if of := r.Redrive.Of; of != "" && before.Redrives != of {
		return fmt.Errorf("%w: its input is the same, and it does not redrive %s; give this one another id",
			ErrJobDiffers, of)
	}
	if before.Storage != r.Storage {
		return fmt.Errorf("%w: its objects are in %s, not in %s", ErrJobDiffers, before.Storage, r.Storage)
	}
	return nil
}
