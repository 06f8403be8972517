package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// A Summary is what a pass did.
type Summary struct {
	Due             int  `json:"due"`             // operations that were due
	Checked         int  `json:"checked"`         // operations that were looked up
	Settled         int  `json:"settled"`         // operations that this pass settled
	Running         int  `json:"running"`         // of those checked: found, and not ended
	Unknown         int  `json:"unknown"`         // of those checked: inconclusive look-ups
	Missing         int  `json:"missing"`         // of those checked: not found at Gemini
	Stuck           int  `json:"stuck"`           // of those checked: pending for too long
	EffectsRequeued int  `json:"effectsRequeued"` // effects published again
	Errors          int  `json:"errors"`          // items that could not be handled
	More            bool `json:"more"`            // the time ended before everything due was handled

	// EffectsUncertain counts the requeued effects whose worker's lease ran out: they may have
	// happened.
	EffectsUncertain int `json:"effectsUncertain"`
	// OldestOperationSeconds is the longest time that an operation had been due.
	OldestOperationSeconds int64 `json:"oldestOperationSeconds"`
	// OldestEffectSeconds is the longest time that a requeued effect had been claimable.
	OldestEffectSeconds int64 `json:"oldestEffectSeconds"`
}

// LogAttrs returns the summary as fields of a log line, with the names that they have in JSON.
func (s Summary) LogAttrs() []any {
	return []any{
		"due", s.Due, "checked", s.Checked, "settled", s.Settled, "running", s.Running, "unknown", s.Unknown,
		"missing", s.Missing, "stuck", s.Stuck, "effectsRequeued", s.EffectsRequeued, "effectsUncertain", s.EffectsUncertain,
		"oldestOperationSeconds", s.OldestOperationSeconds, "oldestEffectSeconds", s.OldestEffectSeconds,
		"errors", s.Errors, "more", s.More,
	}
}

// A counter is a Summary for concurrent use.
type counter struct {
	log *slog.Logger
	sync.Mutex
	Summary
	denied sync.Once
	// unannounced counts the operations that this pass settled as SUCCEEDED. Gemini delivers an event
	// for each of those, and for only some of the other ends.
	unannounced int
}

func (c *counter) add(field *int) {
	c.Lock()
	defer c.Unlock()
	*field++
}

// oldest notes that something was due at since when the pass began at start.
func (c *counter) oldest(seconds *int64, start, since time.Time) {
	if since.IsZero() {
		return
	}
	c.Lock()
	defer c.Unlock()
	*seconds = max(*seconds, int64(start.Sub(since)/time.Second))
}

func (c *counter) more() {
	c.Lock()
	defer c.Unlock()
	c.More = true
}

// fail counts and logs an error that concerns one item. doing is the log message.
func (c *counter) fail(ctx context.Context, doing string, err error) {
	if ctx.Err() != nil || errors.Is(err, errNoTime) {
		c.more() // the time ran out, which is no error of the item
		return
	}
	c.add(&c.Errors)
	c.log.ErrorContext(ctx, doing, "event", "reconcile", "outcome", "error", "error", err)
}
