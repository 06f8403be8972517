package effect

import (
	"context"
	"time"
)

// A window is the time that a run has for its items, within its caller's.
type window struct {
	ctx  context.Context //nolint:containedctx // of the items; it ends before the caller's
	last time.Time       // no item starts afterwards; zero: there is no such time
}

// maxReserve is kept of the caller's time to record outcomes and to hand the rest on, and again for
// the items in progress.
const maxReserve = recordTimeout

// windowOf returns the window within ctx, and what releases it.
func windowOf(ctx context.Context) (window, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return window{ctx: ctx}, func() {}
	}
	reserve := min(maxReserve, time.Until(deadline)/4)
	within, cancel := context.WithDeadline(ctx, deadline.Add(-reserve))
	return window{ctx: within, last: deadline.Add(-2 * reserve)}, cancel
}

// closing reports whether no further item may start.
func (w window) closing() bool {
	return w.over() || w.stopping() || !w.last.IsZero() && !time.Now().Before(w.last)
}

// stopping reports whether the process was told to stop.
func (w window) stopping() bool { return Stopping(w.ctx).Err() != nil }

func (w window) over() bool { return w.ctx.Err() != nil }
