package items

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect"
)

// complete returns nil if every item of the batch is done. Otherwise it logs an alert and returns a
// permanent error, or one to be retried, because it is too early to say.
func (r *itemRun) complete(ctx context.Context, w Window) error {
	if r.uncounted != nil {
		if r.count(w); r.uncounted != nil {
			return r.later(fmt.Errorf("asking how many requests the batch has: %w", Unfetched(r.uncounted)))
		}
		r.at.Total = max(r.at.Total, r.read.Items)
	}
	missing := max(r.at.Total-r.at.Next-r.read.Repeated-r.read.Unkeyed, 0)
	if missing > 0 && !r.twice {
		return r.later(fmt.Errorf("the result has %d of %d items; it is read again before the others are given up",
			r.at.Next, r.at.Total))
	}
	var p diag.Problems
	p.When(r.at.Failed > 0, "%d of %d items failed; the last one: %w", r.at.Failed, r.at.Next, cmp.Or(r.last, errBefore))
	p.When(missing > 0, "%d missing: the result was read twice, and %d of %d items are in it; "+
		"submit what is missing as a new batch", missing, r.at.Next, r.at.Total)
	p.When(r.read.Repeated > 0, "%d items have a key that another item of the result has, %s, and "+
		"were not performed; submit these requests again, each with a key of its own", r.read.Repeated, r.repeated)
	p.When(r.read.Unkeyed > 0, "%d of %d items of %s (job kind %q) have no key, and were not performed: "+
		"Gemini does not keep the order, so nothing says which request each answers; submit these requests again as a "+
		"file, each with a key, or set unkeyed: by-position and replay the effect",
		r.read.Unkeyed, r.read.Items, r.task.Operation, r.completion.JobKind)
	if len(p) == 0 {
		return nil
	}
	r.Log.ErrorContext(ctx, "not every item of the result is done", "event", "alert", "reason", "items-failed",
		"operation", r.task.Operation, "effect", r.task.Effect,
		"done", r.at.Done, "failed", r.at.Failed, "total", r.at.Total,
		"missing", missing, "repeated", r.read.Repeated, "unkeyed", r.read.Unkeyed)
	return effect.Permanent(errors.Join(p...))
}
