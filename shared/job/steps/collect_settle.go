package steps

import (
	"context"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/operation"
)

// settle reads the part's requests a second time. What is to be sent again is copied; what ended otherwise
// than done is copied to the failed ones; what has no line gets one, or is sent again. Where all are done there is
// nothing to read them for.
func (c *collecting) settle(ctx context.Context) (err error) {
	if c.allDone() {
		return nil
	}
	sorted := newSorting(ctx, c.Storage, c.name)
	defer sorted.abort()
	reasons := c.reasons.texts()
	for r, err := range files.Requests(ctx, c.Storage, c.part.Key, c.part.Sources) {
		if err != nil {
			return err
		}
		request := c.asked[operation.HashKey(r.Key)]
		missing := request.outcome == ""
		end := files.Line{
			Key: r.Key, Outcome: request.outcome, Why: reasons[request.reason], Attempts: c.part.Round, Batch: c.task.Operation,
		}
		if missing {
			end.Outcome, end.Why = job.OutcomeFailed, c.noLine()
			request.final = c.isFinal(end.Outcome)
		}
		switch {
		case !request.final:
			err = sorted.rest.Copy(r.Line)
		case end.Outcome == job.OutcomeDone:
		case missing:
			c.part.Counts.Failed++
			c.example(end.Key, end.Outcome, end.Why)
			err = sorted.end(end, r.Body)
		default: // its line of the results was in Gemini's result
			end.Request = r.Body
			err = sorted.failed.Line(end)
		}
		if err != nil {
			return err
		}
	}
	c.part.Again, err = sorted.close(&c.part.Results)
	return err
}

func (c *collecting) allDone() bool {
	for _, request := range c.asked {
		if request.outcome != job.OutcomeDone {
			return false
		}
	}
	return true
}

// noLine says why a request has no line.
func (c *collecting) noLine() string {
	if state := c.completion.State; state != operation.Succeeded {
		return "the batch is " + string(state) + ", and has no result of this request"
	}
	return "the batch has no result of this request"
}

// example keeps the first requests that ended otherwise than done, for people.
func (c *collecting) example(key string, outcome job.Outcome, why string) {
	if outcome != job.OutcomeDone {
		c.part.Failures = job.WithFailures(c.part.Failures, job.Failure{Key: key, Outcome: outcome, Why: why})
	}
}
