package steps

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/effect/items"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// lostAfter is how long Gemini says that it does not have a result before that is believed: an hour less
// than after what time the ledger gives an effect up for it, so that it never does.
const lostAfter = 23 * time.Hour

// unread returns the error of an attempt that could not read the result; nil where Gemini has said for long
// that it does not have it. Then what was stored stands, and the rest has failed.
func (c *collecting) unread(ctx context.Context, err error) error {
	none := errors.Is(err, results.ErrNone)
	gone := none && c.completion.State != operation.Succeeded
	if none && !gone { // that it succeeded without a result is believed like a result that is gone
		err = fmt.Errorf("%w: %w", results.ErrNotFound, err)
	}
	if errors.Is(err, results.ErrNotFound) {
		since, readErr := c.lostSince(ctx)
		if readErr != nil {
			return readErr
		}
		gone = !since.IsZero() && c.Now().Sub(since) >= lostAfter
	}
	if !gone {
		return items.Unfetched(err)
	}
	c.Log.ErrorContext(ctx, "Gemini does not have the result of a job's batch", "event", "alert", "reason", "results-lost",
		"operation", c.task.Operation, "part", c.part.Key, "error", err)
	return nil
}

// lostSince returns since when every attempt has found that Gemini does not have the result; zero: the last
// one has not.
func (c *collecting) lostSince(ctx context.Context) (time.Time, error) {
	read, _, err := c.Ledger.Effects.Read(ctx, ledger.EffectName{Operation: c.task.Operation, Effect: c.task.Effect})
	if err != nil || len(read) == 0 {
		return time.Time{}, err
	}
	if e := read[0]; e.Lost != nil && e.Failing != nil && e.Lost.Failures == e.Failing.Times {
		return e.Lost.Since, nil
	}
	return time.Time{}, nil
}
