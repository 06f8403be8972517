// Package steps performs the steps of jobs: effects whose names begin with job-. What each does is in its
// file. Every step is begun by a claim, and its outcome is one commit with the end of the claim [S6]; so a
// worker that dies, or loses its lease, has only written objects that no commit names.
//
//	step            its effect is of     it ends with
//	job-split       the job              the input cut into parts
//	job-references  a part               what Gemini says of all files and caches that the job's requests name
//	job-start       a part               the part STARTED: Gemini has its batch; or REFUSED, or PLANNED again
//	job-collect     the part's batch     the part COLLECTED; or REFUSED
//	job-cancel      a part               Gemini asked to cancel the part's batch
//	job-finish      the job              the job ENDED: its results are merged
//	job-tidy        the first part       the objects of the parts deleted
//
// Behind the end of each, the job is advanced. A step that cannot be taken now is put off, which is no
// failure: its part says what it waits for.
package steps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"golang.org/x/time/rate"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/gemini/cancel"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// Options are what the steps work with.
type Options struct {
	Ledger *ledger.Ledger
	// Storage is the job storage of this process; nil: it has none, and leaves jobs to others.
	Storage storage.Storage
	// Batches, Results and Canceller are nil where there is no API key: then steps that ask Gemini wait.
	Batches   *batches.Client
	Results   *results.Client
	Canceller *cancel.Client
	Now       func() time.Time
	Log       *slog.Logger

	bounds  bounds
	lookUps *rate.Limiter // of references, by all steps together
}

// Bounds are constants, which tests replace by smaller ones.
type bounds struct {
	references int   // how many of a job are looked up
	chunkBytes int64 // about how large an object of results becomes before it is recorded
	parts      int   // how many a job may have
	cut        int   // how many parts one commit of a split creates
}

// Handlers returns the handler of each step, by its name. A process calls it once: the steps share its limits.
func Handlers(o Options) map[string]effect.Handler {
	o.bounds.chunkBytes = cmp.Or(o.bounds.chunkBytes, 64<<20)
	o.bounds.parts, o.bounds.cut = cmp.Or(o.bounds.parts, job.MostParts), cmp.Or(o.bounds.cut, 100)
	o.bounds.references = cmp.Or(o.bounds.references, job.MostReferences)
	o.lookUps = cmp.Or(o.lookUps, rate.NewLimiter(lookUpsPerSecond, lookUpsAtOnce))
	return map[string]effect.Handler{
		job.StepSplit:      step{o, o.split},
		job.StepReferences: step{o, o.references},
		job.StepStart:      step{o, o.start},
		job.StepCollect:    step{o, o.collect},
		job.StepCancel:     step{o, o.cancel},
		job.StepFinish:     step{o, o.finish},
		job.StepTidy:       step{o, o.tidy},
	}
}

// Concurrency adds to the bounds of effects how many of each step run at once in one process. Those that move
// many bytes are few.
func Concurrency(of map[string]int) map[string]int {
	maps.Copy(of, map[string]int{
		job.StepSplit: 2, job.StepStart: 4, job.StepCollect: 4, job.StepCancel: 8, job.StepFinish: 2,
		job.StepTidy: 2, job.StepReferences: 1,
	})
	return of
}

// A step is the handler of one step.
type step struct {
	Options
	perform func(context.Context, effect.Task) ([]ledger.Write, error)
}

// Perform implements [effect.Handler].
func (s step) Perform(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
	return s.perform(ctx, task)
}

// Follow advances the job, and where that has left room the one that waits for it [effect.Follower].
func (s step) Follow(ctx context.Context, lease ledger.Lease) error {
	key, err := s.jobOf(ctx, lease.Operation)
	if err != nil {
		return err
	}
	advanced, err := s.advance(ctx, key)
	if err == nil && advanced.Waiting != "" {
		_, err = s.advance(ctx, advanced.Waiting)
	}
	return err
}

func (o Options) advance(ctx context.Context, key operation.Key) (ledger.Advanced, error) {
	advanced, err := o.Ledger.Jobs.Advance(ctx, key)
	if advanced.Settled {
		o.Log.InfoContext(ctx, "a job has ended", advanced.LogAttrs()...)
	}
	return advanced, err
}

// jobOf returns the job of a step whose effect is of this operation.
func (o Options) jobOf(ctx context.Context, key operation.Key) (operation.Key, error) {
	if of, _, isPart := operation.ParsePart(string(key)); isPart {
		return of, nil
	}
	if key.Collection() == operation.Jobs {
		return key, nil
	}
	part, err := o.partOf(ctx, key)
	of, _, _ := operation.ParsePart(string(part))
	return of, err
}

// partOf returns the part of a batch.
func (o Options) partOf(ctx context.Context, batch operation.Key) (operation.Key, error) {
	rec, err := o.Ledger.Operations.Read(ctx, batch)
	if err != nil {
		return "", err
	}
	if _, _, isPart := operation.ParsePart(rec.CorrelationID); !isPart {
		return "", effect.Permanent(fmt.Errorf("%s is the batch of no job", batch))
	}
	return operation.Key(rec.CorrelationID), nil
}

// otherWorkers is after what time a step is tried again that this process cannot take.
const otherWorkers = time.Minute

// mine returns nil where this process can work for the job.
func (o Options) mine(j job.Job) error {
	if err := files.CheckStorage(o.Storage, j); err != nil {
		return effect.Postpone(err, otherWorkers)
	}
	return nil
}

var errNoKey = errors.New("this process has no Gemini API key")

// asks returns nil where this process can ask Gemini.
func (o Options) asks() error {
	if o.Batches == nil || o.Results == nil || o.Canceller == nil {
		return effect.Postpone(errNoKey, otherWorkers)
	}
	return nil
}

// deleteInputs deletes the inputs of a part at Gemini: there they count towards its storage, for two days.
func (o Options) deleteInputs(ctx context.Context, p job.Part) {
	if o.Batches == nil {
		return
	}
	for _, file := range p.Files {
		if err := o.Batches.DeleteFile(ctx, file.Name); err != nil {
			o.Log.WarnContext(ctx, "a file of requests stays at Gemini until it expires", "part", p.Key, "file", file.Name,
				"error", err)
		}
	}
}

// job reads a job, for a step that works with its objects.
func (o Options) job(ctx context.Context, key operation.Key) (ledger.StoredJob, error) {
	j, err := o.Ledger.Jobs.Read(ctx, key)
	if err == nil {
		err = o.mine(j.Job)
	}
	return j, err
}

// part reads a part and its job, for a step that works with its objects.
func (o Options) part(ctx context.Context, key operation.Key) (ledger.StoredPart, ledger.StoredJob, error) {
	p, j, err := o.Ledger.Jobs.Part(ctx, key)
	if err == nil {
		err = o.mine(j.Job)
	}
	return p, j, err
}
