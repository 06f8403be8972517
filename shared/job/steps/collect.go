package steps

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/check"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// collect reads the result of a part's batch by key, and stores what is final of it [J4]. It takes three
// looks: at the keys of the part's requests, at Gemini's result, and at the requests again, of which those
// without a final line are copied to be sent again, or end as failed. Only its last commit makes the part
// COLLECTED; an attempt whose time ends before leaves the chunks that it stored to the next.
func (o Options) collect(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
	key, err := o.partOf(ctx, task.Operation)
	if err != nil {
		return nil, err
	}
	p, j, err := o.part(ctx, key)
	switch {
	case err != nil:
		return nil, err
	case p.Released != nil:
		o.deleteInputs(ctx, p.Part)
		return nil, nil
	case p.State != job.Planned && !p.State.Running(), p.Batch != "" && p.Batch != task.Operation:
		return nil, nil // it is collected
	}
	if err := o.asks(); err != nil {
		return nil, err
	}
	c := collecting{
		Options: o, task: task, part: p, job: j.Job, checks: check.NewChecks(j.Options.Validate), reasons: reasons{},
		written: map[string]int{},
	}
	c.part.Batch = task.Operation
	c.part.Unmatched, c.part.Counts.Unmatched = nil, 0 // found again by each attempt
	if err := json.Unmarshal(task.Payload, &c.completion); err != nil {
		return nil, effect.Permanent(fmt.Errorf("reading the payload of the effect: %w", err))
	}
	return c.run(ctx)
}

// A collecting is one attempt at a collect.
type collecting struct {
	Options
	task       effect.Task
	part       ledger.StoredPart
	job        job.Job
	completion ledger.Payload
	checks     *check.Checks
	asked      map[operation.KeyHash]*asked
	reasons    reasons
	matched    int64          // requests that have a line in this read
	written    map[string]int // objects of this attempt, by kind
	stored     bool           // this attempt has recorded lines
}

func (c *collecting) run(ctx context.Context) ([]ledger.Write, error) {
	batch, err := c.confirm(ctx)
	if err != nil {
		return nil, err
	}
	output := outputOf(c.completion, batch)
	if output == nil && len(c.part.Final) == 0 && refusedAsWhole(c.completion) {
		return c.refused(ctx)
	}
	if err := c.ask(ctx); err != nil {
		return nil, err
	}
	if err := c.restore(ctx); err != nil {
		return nil, err
	}
	if output != nil {
		if err := c.read(ctx, *output); err != nil {
			return nil, err
		}
	}
	if err := c.settle(ctx); err != nil {
		return nil, err
	}
	c.part.State, c.part.Seen, c.part.Tally = job.Collected, nil, ""
	c.part.Waits, c.part.WaitsSince = "", time.Time{}
	if c.completion.State != operation.Succeeded {
		c.part.Problem = "its batch is " + string(c.completion.State)
		if why := c.completion.Result.ErrorMessage; why != "" {
			c.part.Problem = diag.Cut(c.part.Problem+": "+why, maxProblem)
		}
	}
	c.deleteInputs(ctx, c.part.Part)
	c.alert(ctx)
	return []ledger.Write{c.part.Write()}, nil
}

// errDiffers: what Gemini says of the batch is not what the ledger has.
var errDiffers = errors.New(
	"nothing of it is given out again; compare the two, and release the part or replay the effect")

// confirm asks Gemini for the batch. One with another input, or another end, than the ledger has stops the
// part until an operator decides.
func (c *collecting) confirm(ctx context.Context) (api.Batch, error) {
	batch, err := c.Batches.Get(ctx, c.task.Operation)
	if err != nil {
		return batch, fmt.Errorf("asking for %s: %w", c.task.Operation, err)
	}
	ours := func(f job.File) bool { return f.Name == batch.InputFile }
	switch state := batch.Known(); {
	case batch.InputFile != "" && !slices.ContainsFunc(c.part.Files, ours):
		err = fmt.Errorf("%s has the input %s, which is none of %s: %w", c.task.Operation, batch.InputFile, c.part.Key,
			errDiffers)
		return batch, effect.Permanent(err)
	case state.Terminal() && state != c.completion.State:
		err = fmt.Errorf("%s is %s at Gemini and %s in the ledger: %w", c.task.Operation, state, c.completion.State,
			errDiffers)
		return batch, effect.Permanent(err)
	case !state.Terminal():
		return batch, fmt.Errorf("%s has not ended, as Gemini says now; it is asked again", c.task.Operation)
	}
	return batch, nil
}

// outputOf returns what is known of a batch's result; nil where it has none. What a cancelled batch did is
// read, too, wherever a result is named.
func outputOf(completion ledger.Payload, batch api.Batch) *operation.Result {
	result := operation.Result(completion.Result)
	result.OutputFile = cmp.Or(result.OutputFile, batch.Result.OutputFile)
	if result.OutputFile == "" && completion.State != operation.Succeeded {
		return nil
	}
	return &result
}

// refusedAsWhole reports whether Gemini refused a batch after it had taken it.
func refusedAsWhole(completion ledger.Payload) bool {
	invalid := []string{"400", "INVALID_ARGUMENT"}
	return completion.State == operation.Failed && slices.Contains(invalid, completion.Result.ErrorCode) &&
		!batches.AboutProject(completion.Result.ErrorMessage)
}

// refused ends the part as refused: it is split.
func (c *collecting) refused(ctx context.Context) ([]ledger.Write, error) {
	c.part.Problem = diag.Cut(c.completion.Result.ErrorMessage, maxProblem)
	return c.cutUp(ctx, c.task, c.job, c.part, mostPieces)
}

// alert reports what an operator should know of a batch that was collected.
func (c *collecting) alert(ctx context.Context) {
	report := func(reason, message string) {
		c.Log.ErrorContext(ctx, message, "event", "alert", "reason", reason, "operation", c.task.Operation,
			"part", c.part.Key, "lines", c.part.Counts.Unmatched)
	}
	if c.part.Counts.Unmatched > 0 {
		report("unmatched", "lines of a batch's result are the answer to no request; they are in unmatched.jsonl")
	}
	if c.completion.State == operation.Cancelled && c.job.Cancelled == nil && !c.part.CancelPlanned {
		report("batch-cancelled", "the batch of a job was cancelled, but not the job; its requests are sent again")
	}
}
