package effect

import (
	"context"
	"time"
)

// A window is the time that a run has for its items, within what its caller has.
type window struct {
	ctx  context.Context //nolint:containedctx // what the items are performed under; it ends before the caller's
	last time.Time       // nothing is begun afterwards; zero: there is no such time
}

// maxReserve is kept of the caller's time to record what was done, and to hand on the rest; and
// once more for what was begun.
const maxReserve = recordTimeout

// windowOf returns the window within ctx, and what lets go of it.
func windowOf(ctx context.Context) (window, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return window{ctx: ctx}, func() {}
	}
	reserve := min(maxReserve, time.Until(deadline)/4)
	within, cancel := context.WithDeadline(ctx, deadline.Add(-reserve))
	return window{ctx: within, last: deadline.Add(-2 * reserve)}, cancel
}

// closing reports whether nothing more should be begun.
func (w window) closing() bool {
	return w.over() || !w.last.IsZero() && !time.Now().Before(w.last)
}

func (w window) over() bool { return w.ctx.Err() != nil }
