package items

import (
	"context"
	"time"

	"github.com/opledger/opledger/shared/effect"
)

// A Window is the time that a run has for its items, within its caller's.
type Window struct {
	Context context.Context //nolint:containedctx // of the items; it ends before the caller's
	last    time.Time       // no item starts afterwards; zero: there is no such time
}

// maxReserve is kept of the caller's time to record outcomes and to hand the rest on, and again for
// the items in progress.
const maxReserve = effect.RecordTimeout

// WindowOf returns the window within ctx, and what releases it.
func WindowOf(ctx context.Context) (Window, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return Window{Context: ctx}, func() {}
	}
	reserve := min(maxReserve, time.Until(deadline)/4)
	within, cancel := context.WithDeadline(ctx, deadline.Add(-reserve))
	return Window{Context: within, last: deadline.Add(-2 * reserve)}, cancel
}

// Closing reports whether no further item may start.
func (w Window) Closing() bool {
	return w.Over() || w.stopping() || !w.last.IsZero() && !time.Now().Before(w.last)
}

// stopping reports whether the process was told to stop.
func (w Window) stopping() bool { return effect.Stopping(w.Context).Err() != nil }

// Over reports whether the time of the items has ended.
func (w Window) Over() bool { return w.Context.Err() != nil }
