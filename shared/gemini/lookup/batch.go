package lookup

import (
	"context"
	"io"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/operation"
)

// lookupBatch looks up one batch.
func (c *Client) lookupBatch(ctx context.Context, name operation.Name, path string) Answer {
	var batch api.Batch
	failure := c.get(ctx, name.Resource, path, nil, func(body io.Reader) (err error) {
		if batch, err = api.ReadBatch(body); err == nil {
			err = api.CheckAbout(name, batch.Name)
		}
		return err
	})
	if failure != nil {
		return unknown(failure)
	}
	return c.batchAnswer(name.Resource, batch)
}

// batchAnswer returns the answer that a batch gives.
func (c *Client) batchAnswer(name string, batch api.Batch) Answer {
	var answer Answer
	switch state := batch.Known(); {
	case state.Known():
		result := batch.Result
		result.ErrorCode, result.ErrorMessage = c.errorTexts(batch.Failure.Code, batch.Failure.Message)
		answer = known(state, batch.Since(), result)
	case batch.State == "" || strings.HasSuffix(batch.State, "_STATE_UNSPECIFIED"):
		answer = unknown(c.problem(name, NoState, "the answer has no state%s", batch.Failure.Complaint()))
	default:
		answer = unknown(c.problem(name, UnknownState, "state %s is not known", diag.QuoteUpTo(batch.State, maxQuoted)))
	}
	return describe(batch, answer)
}

// describe adds to an answer the fields that do not depend on the state.
func describe(batch api.Batch, answer Answer) Answer {
	answer.CorrelationID = gemini.CorrelationIn(batch.DisplayName)
	answer.CreateTime = gemini.ParseTime(batch.CreateTime)
	return answer
}
