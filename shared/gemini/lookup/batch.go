package lookup

import (
	"context"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/excerpt"
	"github.com/opledger/opledger/shared/operation"
)

// lookupBatch asks for one batch. The SDK decodes the whole answer, results and all, and one inline result that it cannot
// decode (null, or an error with details) hides the state of the batch: that is a BadAnswer at every look-up, and shows as
// such until the operation is stuck. Reading the resource itself would mend this and what batchResult has to leave out.
func (c *Client) lookupBatch(ctx context.Context, name operation.Name) Answer {
	job, err := c.genai.Batches.Get(ctx, batchName(name), nil)
	if err != nil {
		return c.failed(name, err)
	}
	state := batchState(job.State)
	switch {
	case state.Known():
		return known(state, batchTime(job), batchResult(job))
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

// batchTime is when the server says the batch came into its state [M4].
func batchTime(job *genai.BatchJob) time.Time {
	if !job.UpdateTime.IsZero() {
		return job.UpdateTime
	}
	return job.EndTime
}

// batchResult says where the output is. Why a batch failed and how many of its requests did is not in it: on this API the
// SDK drops the operation's error and its counts, and leaves BatchJob.Error nil even for a failed batch. This is the place
// for them.
func batchResult(job *genai.BatchJob) operation.Result {
	var result operation.Result
	if job.Dest != nil {
		result.OutputFile = job.Dest.FileName
		result.Inline = len(job.Dest.InlinedResponses) > 0 || len(job.Dest.InlinedEmbedContentResponses) > 0
	}
	return result
}
