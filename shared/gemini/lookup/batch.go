package lookup

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/excerpt"
	"github.com/opledger/opledger/shared/operation"
)

// lookupBatch asks for one batch. The SDK decodes the whole answer, results and all: one inline result that it cannot decode
// (null, or an error with details), or more results than Options.MaxAnswer allows, hide the state of the batch, and would at
// every look-up. Then the resource is asked for once more and read without the SDK. Where that does not tell a known state
// either, the first answer stands.
func (c *Client) lookupBatch(ctx context.Context, name operation.Name) Answer {
	first := c.askBatch(ctx, name)
	if (first.Reason != BadAnswer && first.Reason != TooLarge) || ctx.Err() != nil {
		return first
	}
	second, err := c.readBatch(ctx, name)
	if err != nil {
		var failure *LookupError
		if errors.As(first.Err, &failure) {
			failure.Message = redact(failure.Message+"; asked again without the SDK: "+err.Error(), c.key)
		}
		return first
	}
	return second
}

// askBatch asks for one batch through the SDK.
func (c *Client) askBatch(ctx context.Context, name operation.Name) (answer Answer) {
	defer c.survive(name, &answer)
	job, err := c.genai.Batches.Get(ctx, batchName(name), nil)
	if err != nil {
		return c.failed(name, err)
	}
	state := batchState(job.State)
	switch {
	case state.Known():
		return known(state, stateTime(job.UpdateTime, job.EndTime), batchResult(job))
	case job.State == "" || job.State == genai.JobStateUnspecified:
		// The SDK drops an error body under a 200 and everything else it has no field for: no state is all that is left.
		return unknown(name, NoState, "the answer has no state")
	default:
		return unknown(name, UnknownState, "state %s is not known", excerpt.Quote(string(job.State), maxQuoted))
	}
}

// batchName is the name as it was given, where the SDK takes it: it must end in "batches/ID", in this case [K5].
func batchName(name operation.Name) string {
	if strings.HasSuffix(name.Resource, string(operation.Batches)+"/"+name.Key.ID()) {
		return name.Resource
	}
	return string(name.Key)
}

// batchState is the table from Gemini's words to the ledger's; operation.Unknown for any other word. The API has two
// prefixes for the same words, and the SDK translates only some of them. Words that belong to another service and do not
// clearly say where the work stands (paused, updating, partially succeeded) are not in it: guessing could end a job.
func batchState(state genai.JobState) operation.State {
	word, ok := strings.CutPrefix(string(state), "JOB_STATE_")
	if !ok {
		word, ok = strings.CutPrefix(string(state), "BATCH_STATE_")
	}
	if !ok {
		return operation.Unknown
	}
	switch word {
	case "PENDING", "QUEUED":
		return operation.Pending
	case "RUNNING", "CANCELLING":
		return operation.Running
	case "SUCCEEDED":
		return operation.Succeeded
	case "FAILED":
		return operation.Failed
	case "CANCELLED":
		return operation.Cancelled
	case "EXPIRED":
		return operation.Expired
	default:
		return operation.Unknown
	}
}

// stateTime is when the server says the batch came into its state [M4].
func stateTime(updated, ended time.Time) time.Time {
	if !updated.IsZero() {
		return updated
	}
	return ended
}

// batchResult says where the output is. Why a batch failed and how many of its requests did is not in it: on this API the
// SDK drops the operation's error and its counts, and leaves BatchJob.Error nil even for a failed batch. Only readBatch sees
// them.
func batchResult(job *genai.BatchJob) operation.Result {
	var result operation.Result
	if job.Dest != nil {
		result.OutputFile = job.Dest.FileName
		result.Inline = len(job.Dest.InlinedResponses) > 0 || len(job.Dest.InlinedEmbedContentResponses) > 0
	}
	return result
}
