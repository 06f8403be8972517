package steps

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/items"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/operation"
)

// errShort: Gemini's result lacks requests, and another read brought others.
var errShort = errors.New("two reads of the result had different keys; it is read again")

// read reads Gemini's result, and stores the lines that are final. A result that lacks requests is believed
// once it was read twice with the same keys: a download that breaks between two lines looks like one that has
// ended.
func (c *collecting) read(ctx context.Context, output operation.Result) error {
	window, cancel := items.WindowOf(ctx)
	defer cancel()
	reader, err := c.Results.Open(window.Context, c.task.Operation, output)
	if err != nil {
		return c.unread(ctx, err)
	}
	defer reader.Close() //nolint:errcheck // it was read, or cannot be
	out, unmatched := c.lines(ctx, files.Results), c.lines(ctx, files.Unmatched)
	defer func() { _, _ = out.Abort(), unmatched.Abort() }() // they were closed, or an error is returned
	for {
		item, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = c.take(item, out, unmatched)
		}
		if err == nil && (out.full() || window.Closing()) {
			err = c.store(ctx, out)
		}
		if err == nil && window.Closing() {
			err = later(ctx, c.stored, nil)
		}
		if err != nil {
			return c.broken(ctx, window, err)
		}
	}
	if tally := tallyOf(reader); c.matched < c.part.Requests && c.part.Tally != tally {
		if window.Over() {
			return c.broken(ctx, window, errShort)
		}
		return c.again(ctx, out, tally)
	}
	if err := out.closeTo(&c.part.Final); err != nil {
		return err
	}
	return unmatched.closeTo(&c.part.Unmatched)
}

// broken returns the error of an attempt that could not read to the end. Where only its time is over, the
// next attempt goes on behind what was stored.
func (c *collecting) broken(ctx context.Context, window items.Window, err error) error {
	switch {
	case errors.Is(err, effect.ErrContinue), errors.Is(err, errSlow):
		return err
	case window.Over() && ctx.Err() == nil:
		return later(ctx, c.stored, err)
	}
	return items.Unfetched(fmt.Errorf("reading the result of %s: %w", c.task.Operation, err))
}

// errSlow: the time of an attempt does not reach behind what is stored, and would not the next time.
var errSlow = errors.New("the attempt's time was over before anything new was stored; give the effects more time")

// later returns the error of an attempt whose time is over, which cut off what failed with cause; nil: nothing. One
// that has stored nothing has failed: else that could repeat for ever.
func later(ctx context.Context, stored bool, cause error) error {
	switch {
	case stored, effect.Stopping(ctx).Err() != nil:
		return effect.ErrContinue
	case cause == nil:
		return errSlow
	case errors.Is(cause, errSlow):
		return cause
	default:
		return fmt.Errorf("%w: %w", errSlow, cause)
	}
}

// take stores one line of the result.
func (c *collecting) take(item results.Item, out, unmatched *lines) error {
	key := operation.HashKey(item.Submitted)
	request := c.asked[key]
	if item.Submitted == "" || request == nil || request.line {
		c.part.Counts.Unmatched++
		why := unmatchedWhy(item.Submitted == "", request == nil)
		return unmatched.Line(c.line(item, job.Judgement{Outcome: job.OutcomeFailed, Why: why}))
	}
	request.line = true
	c.matched++
	if request.outcome != "" {
		return nil // a former attempt has stored it
	}
	judged := job.Judge(item.Response, item.Error, request.check)
	request.outcome, request.reason = judged.Outcome, c.reasons.of(judged.Why)
	request.final = c.isFinal(judged.Outcome)
	c.part.Usage = c.part.Usage.Add(judged.Usage)
	out.see(key, judged)
	if !request.final {
		return nil
	}
	c.part.Counts = c.part.Counts.Add(judged.Outcome.Counts())
	c.example(item.Submitted, judged.Outcome, judged.Why)
	return out.Line(c.line(item, judged))
}

func (c *collecting) line(item results.Item, judged job.Judgement) files.Line {
	return files.Line{
		Key: item.Submitted, Response: item.Response, Error: item.Error, Outcome: judged.Outcome, Why: judged.Why,
		Attempts: c.part.Round, Batch: c.task.Operation,
	}
}

func unmatchedWhy(noKey, foreign bool) string {
	switch {
	case noKey:
		return "the line has no key"
	case foreign:
		return "no request of the batch has this key"
	default:
		return "an earlier line had the same key"
	}
}

func tallyOf(reader *results.Reader) string {
	tally := reader.Tally()
	return fmt.Sprintf("%d-%s", tally.Keys, tally.Sum)
}

// again records what was read of a result that lacks requests, for the next attempt to read it once more.
func (c *collecting) again(ctx context.Context, out *lines, tally string) (err error) {
	first := c.part.Tally == ""
	c.part.Tally = tally
	if len(out.seen) > 0 {
		err = c.store(ctx, out)
	} else {
		c.part, err = c.Ledger.Jobs.Save(ctx, c.task.Lease, c.part)
	}
	switch {
	case err != nil:
		return err
	case first:
		return effect.ErrContinue
	default:
		return errShort
	}
}
