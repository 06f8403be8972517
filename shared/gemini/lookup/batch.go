package lookup

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/operation"
)

// lookupBatch looks up one batch.
func (c *Client) lookupBatch(ctx context.Context, name operation.Name, path string) Answer {
	var batch resource
	failure := c.get(ctx, name.Resource, path, nil, func(body io.Reader) (err error) {
		if batch, err = readBatch(body); err == nil {
			err = isAbout(name, batch.name)
		}
		return err
	})
	if failure != nil {
		return unknown(failure)
	}
	return c.batchAnswer(name.Resource, batch)
}

// batchAnswer returns the answer that a batch gives.
func (c *Client) batchAnswer(name string, batch resource) Answer {
	var answer Answer
	switch state := batchState(batch.state); {
	case state.Known():
		result := batch.result
		result.ErrorCode, result.ErrorMessage = c.errorTexts(batch.failure.code, batch.failure.message)
		answer = known(state, stateTime(instant(batch.updateTime), instant(batch.endTime)), result)
	case batch.state == "" || strings.HasSuffix(batch.state, "_STATE_UNSPECIFIED"):
		answer = unknown(c.problem(name, NoState, "the answer has no state%s", batch.complaint()))
	default:
		answer = unknown(c.problem(name, UnknownState, "state %s is not known", diag.QuoteUpTo(batch.state, maxQuoted)))
	}
	return batch.describe(answer)
}

// describe adds to an answer the fields that do not depend on the state.
func (r *resource) describe(answer Answer) Answer {
	answer.CorrelationID = gemini.CorrelationIn(r.displayName)
	answer.CreateTime = operation.Instant(instant(r.createTime))
	return answer
}

// batchState maps Gemini's states to the ledger's, and any other word to operation.Unknown. The API
// has two prefixes for the same words. States of another service that are not clear (paused,
// updating, partially succeeded) are left out: a wrong guess could end a job.
func batchState(state string) operation.State {
	word, ok := strings.CutPrefix(state, "JOB_STATE_")
	if !ok {
		word, ok = strings.CutPrefix(state, "BATCH_STATE_")
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

// stateTime is the server's time of the batch's state [M4].
func stateTime(updated, ended time.Time) time.Time {
	if !updated.IsZero() {
		return updated
	}
	return ended
}

// instant parses a time and returns zero for any other text, because the state counts without it.
func instant(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}
