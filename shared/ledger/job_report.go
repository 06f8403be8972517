package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// A JobReport is a job's part of an effect's payload: what became of its requests, and what that took, as it was known
// when the effect was planned.
type JobReport struct {
	Requests int64 `json:"requests"`
	job.Counts
	Batches int       `json:"batches"` // whose results are counted
	Rounds  int       `json:"rounds"`
	Tokens  job.Usage `json:"tokens"`
	// EstimatedCost is what the tokens cost, in dollars; absent where the model had no price as the job was submitted.
	EstimatedCost *float64 `json:"estimatedCost,omitempty"`
	// FailedFile has the requests that were not done, and UnmatchedFile the lines of results that no request had asked
	// for. Both are empty before the job's end, and where there are none.
	FailedFile    string `json:"failedFile,omitempty"`
	UnmatchedFile string `json:"unmatchedFile,omitempty"`
}

// reportOn returns the report on a job.
func reportOn(j job.Job) *JobReport {
	r := &JobReport{
		Requests: j.Input.Requests, Counts: j.Counts, Batches: j.Batches, Rounds: j.Round, Tokens: j.Usage,
	}
	if j.Price != nil {
		r.EstimatedCost = new(j.Price.Cost(j.Usage))
	}
	if o := j.Output.Failed; o.Size > 0 {
		r.FailedFile = j.Storage + "/" + o.Name
	}
	if o := j.Output.Unmatched; o.Size > 0 {
		r.UnmatchedFile = j.Storage + "/" + o.Name
	}
	return r
}

// jobReport reads the report on the job that an operation is; nil of any other, and where the job is gone.
func (l *protocol) jobReport(ctx context.Context, rec operation.Record) (*JobReport, error) {
	if rec.Collection != operation.Jobs {
		return nil, nil
	}
	j, _, err := l.job(ctx, rec.Key)
	switch {
	case errors.Is(err, ErrNoJob):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s for its effects: %w", rec.Key, err)
	}
	return reportOn(j.Job), nil
}
