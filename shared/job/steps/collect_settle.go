package steps

import (
	"context"
	"encoding/json"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/operation"
)

// again is the kind of an object of requests that are sent again.
const again = "again"

// settle reads the part's requests a second time. What is to be sent again is copied; what ended otherwise
// than done is copied to the failed ones; what has no line gets one, or is sent again. Where all are done there is
// nothing to read them for.
func (c *collecting) settle(ctx context.Context) error {
	if c.allDone() {
		return nil
	}
	out, failed, copies := c.lines(ctx, files.Results), c.lines(ctx, files.Failed), c.lines(ctx, again)
	defer func() { _, _, _ = out.Abort(), failed.Abort(), copies.Abort() }() // they were closed, or an error is returned
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
			err = copies.Copy(r.Line)
		case end.Outcome == job.OutcomeDone:
		default:
			err = c.fail(end, r.Body, missing, out, failed)
		}
		if err != nil {
			return err
		}
	}
	return c.settled(out, failed, copies)
}

func (c *collecting) allDone() bool {
	for _, request := range c.asked {
		if request.outcome != job.OutcomeDone {
			return false
		}
	}
	return true
}

// fail writes a request that ended otherwise than done. missing: it has no line in the results yet.
func (c *collecting) fail(end files.Line, body json.RawMessage, missing bool, out, failed *lines) error {
	if missing {
		c.part.Counts.Failed++
		c.example(end.Key, end.Outcome, end.Why)
		if err := out.Line(end); err != nil {
			return err
		}
	}
	end.Request = body
	return failed.Line(end)
}

// noLine says why a request has no line.
func (c *collecting) noLine() string {
	if state := c.completion.State; state != operation.Succeeded {
		return "the batch is " + string(state) + ", and has no result of this request"
	}
	return "the batch has no result of this request"
}

// settled ends the objects.
func (c *collecting) settled(out, failed, copies *lines) error {
	if err := out.closeTo(&c.part.Final); err != nil {
		return err
	}
	if err := failed.closeTo(&c.part.Failed); err != nil {
		return err
	}
	requests := copies.Lines
	object, ok, err := copies.Close()
	if ok {
		c.part.Again = []job.Source{{Object: object.Name, Length: object.Size, Requests: requests}}
	}
	return err
}

// example keeps the first requests that ended otherwise than done, for people.
func (c *collecting) example(key string, outcome job.Outcome, why string) {
	if outcome != job.OutcomeDone {
		c.part.Failures = job.WithFailures(c.part.Failures, job.Failure{Key: key, Outcome: outcome, Why: why})
	}
}
