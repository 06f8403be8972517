// Package progress reads how far a job is: what the commands, the pages and the routes show of it.
package progress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A Progress is how far a job is.
type Progress struct {
	Key operation.Key `json:"key"`
	// State is that of the job's record: PENDING until the job has ended.
	State   operation.State `json:"state"`
	Phase   job.Phase       `json:"phase"`
	JobKind string          `json:"jobKind,omitempty"`
	Options job.Options     `json:"options"`
	Input   job.Input       `json:"input"`
	Batches Batches         `json:"batches"`
	// Round is how often the requests of the latest part are sent, at most Options.MaxAttempts [J5].
	Round int `json:"round"`
	// Counts are the requests by their final outcome, Open those that have none yet.
	Counts job.Counts `json:"counts"`
	Open   int64      `json:"open"`
	// Gathered are open requests that wait for others, to fill a batch of the next round.
	Gathered int64     `json:"gathered,omitempty"`
	Usage    job.Usage `json:"usage"`
	// Price is as in [job.Job]. EstimatedCost is what Usage costs by it, in dollars, Gemini's bill aside.
	Price         *job.Price `json:"price,omitempty"`
	EstimatedCost float64    `json:"estimatedCost,omitempty"`
	// Pilot is as in [job.Job]: while it is not zero, requests behind the pilot's are not started. Failures are the
	// first requests of each outcome that ended otherwise than done.
	Pilot    int64         `json:"pilot,omitempty"`
	Failures []job.Failure `json:"failures,omitempty"`
	// Waiting is what the start of a part waits for, of several the one that waits longest; nil: none does. Where no start
	// was put off, it is what the next batch lacks.
	Waiting *Waiting   `json:"waiting,omitempty"`
	Storage string     `json:"storage"`
	Output  job.Output `json:"output,omitzero"`
	// Why says why a job that has ended did not succeed.
	Why       string             `json:"why,omitempty"`
	Cancelled *operation.Decided `json:"cancelled,omitempty"`
	// Hold is why the job starts nothing now, which does not end; Resumed and Changes are as in [job.Job].
	Hold    *job.Hold          `json:"hold,omitempty"`
	Resumed *operation.Decided `json:"resumed,omitempty"`
	Changes []job.Change       `json:"changes,omitempty"`
	// Stopped, DeadlineReached, Invalid and Refusal are as in [job.Job].
	Stopped         string    `json:"stopped,omitempty"`
	DeadlineReached time.Time `json:"deadlineReached,omitzero"`
	Invalid         string    `json:"invalid,omitempty"`
	Refusal         string    `json:"refusal,omitempty"`
	// Redrives and RedrivenBy are as in [job.Job].
	Redrives   operation.Key `json:"redrives,omitempty"`
	RedrivenBy []job.Redrive `json:"redrivenBy,omitempty"`
	CreatedAt  time.Time     `json:"createdAt"`
	SteppedAt  time.Time     `json:"steppedAt"`
}

// Batches are the batches of a job in numbers.
type Batches struct {
	// Total are all parts so far: further rounds, and the pieces of refused batches, add to it.
	Total   int `json:"total"`
	Done    int `json:"done"`    // their results are in job storage
	Running int `json:"running"` // started, or about to be
	// Starting are, of Running, those whose batch is not known at Gemini yet.
	Starting int `json:"starting,omitempty"`
	Planned  int `json:"planned"`         // they wait for a free batch
	Twins    int `json:"twins,omitempty"` // as in [job.Job]
}

// Waiting is what a part waits for.
type Waiting struct {
	Part   operation.Key `json:"part"`
	Reason job.Wait      `json:"reason"`
	Since  time.Time     `json:"since"`
	// Of a batch and of tokens: how many of Most all jobs have, and of tokens those of Model that the next batch has.
	Used   int64  `json:"used,omitempty"`
	Most   int64  `json:"most,omitempty"`
	Model  string `json:"model,omitempty"`
	Tokens int64  `json:"tokens,omitempty"`
}

// Ended reports whether the job has ended: its record is settled.
func (p Progress) Ended() bool { return p.State.Terminal() }

// mostOpen is how many open parts are read: all that run, and the oldest of those that wait.
const mostOpen = 300

// Read reads a job's progress in four reads. They are not of one instant: a batch that is consumed
// meanwhile may be in no number yet. Errors: ledger.ErrNoJob; else the store's.
func Read(ctx context.Context, l ledger.Reading, key operation.Key) (Progress, error) {
	j, err := l.Jobs.Read(ctx, key)
	if err != nil {
		return Progress{}, fmt.Errorf("reading a job's progress: %w", err)
	}
	rec, err := l.Operations.Read(ctx, key)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) { // a record expires before its job does
		return Progress{}, fmt.Errorf("reading the record of a job: %w", err)
	}
	page, err := l.Jobs.OpenParts(ctx, key, ledger.Cursor{}, mostOpen)
	if err != nil {
		return Progress{}, fmt.Errorf("reading a job's progress: %w", err)
	}
	if len(page.Broken) > 0 {
		return Progress{}, fmt.Errorf("reading a job's progress: %w", page.Broken[0])
	}
	running, err := l.Jobs.Running(ctx)
	if err != nil {
		return Progress{}, fmt.Errorf("reading a job's progress: %w", err)
	}
	p := Of(j.Job, rec, page.Items, running)
	if page.Next != (ledger.Cursor{}) { // those behind wait; parts that were dropped or released are among them
		p.Batches.Planned = p.Batches.Total - p.Batches.Done - p.Batches.Running
	}
	return p, nil
}

// Of returns the progress of a job with a record and with open parts, beside what runs of all jobs. The record may be
// zero: it has expired.
func Of(
	j job.Job, rec operation.Record, open []ledger.StoredPart, running ledger.RunningBatches,
) Progress {
	p := Progress{
		Key: j.Key, State: rec.State, Phase: j.Phase, JobKind: j.JobKind, Options: j.Options, Input: j.Input,
		Batches: Batches{Total: j.Parts, Done: j.Batches, Twins: j.Twins},
		Round:   j.Round, Counts: j.Counts, Usage: j.Usage, Storage: j.Storage, Output: j.Output,
		Cancelled: j.Cancelled, Stopped: j.Stopped, Invalid: j.Invalid, Refusal: j.Refusal,
		CreatedAt: j.CreatedAt, SteppedAt: j.SteppedAt, Resumed: j.Resumed, Changes: j.Changes,
		Redrives: j.Redrives, RedrivenBy: j.RedrivenBy,
		DeadlineReached: j.DeadlineReached,
	}
	if j.Held() {
		p.Hold = j.Hold
	}
	p.Pilot, p.Failures = j.Pilot, j.Failures
	for _, g := range j.Waiting {
		p.Gathered += g.Requests
	}
	for _, part := range open {
		p.add(part.Part)
	}
	if p.Price = j.Price; p.Price != nil {
		p.EstimatedCost = p.Price.Cost(p.Usage)
	}
	if want, wants := running.WantOf(j.Key); wants && p.Waiting == nil && j.Starts() {
		p.lacks(want, open, running)
	}
	p.Open = max(j.Input.Requests-p.Counts.Final(), 0)
	state, why := j.Verdict()
	if rec.Version == 0 && j.Phase == job.Ended {
		p.State = state
	}
	p.State = cmp.Or(p.State, operation.Pending)
	if p.Ended() && p.State != operation.Succeeded {
		p.Why = cmp.Or(rec.Result.ErrorMessage, why)
	}
	return p
}

// lacks says what the next batch of the job lacks. It has lacked it since the job's last step.
func (p *Progress) lacks(want ledger.Want, open []ledger.StoredPart, running ledger.RunningBatches) {
	w := &Waiting{Reason: want.For, Since: p.SteppedAt, Used: int64(len(running.Parts)), Most: want.Most}
	if want.For == job.WaitsForTokens {
		w.Used, w.Model, w.Tokens = running.Reserved(want.Model), want.Model, want.Tokens
	}
	if i := slices.IndexFunc(open, func(p ledger.StoredPart) bool { return p.State == job.Planned }); i >= 0 {
		w.Part = open[i].Key
	}
	p.Waiting = w
}

// add counts an open part. What is collected counts before the job's next step consumes it.
func (p *Progress) add(part job.Part) {
	switch {
	case part.State == job.Collected:
		p.Batches.Done++
		p.Counts, p.Usage = p.Counts.Add(part.Counts), p.Usage.Add(part.Usage)
		p.Failures = job.WithFailures(p.Failures, part.Failures...)
		again, _ := job.Total(part.Again)
		p.Gathered += again
	case part.State.Running():
		p.Batches.Running++
		if part.State == job.Starting {
			p.Batches.Starting++
		}
	case part.State == job.Planned:
		p.Batches.Planned++
	}
	if part.Waits != "" && (p.Waiting == nil || part.WaitsSince.Before(p.Waiting.Since)) {
		p.Waiting = &Waiting{Part: part.Key, Reason: part.Waits, Since: part.WaitsSince}
	}
}
