package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// A Summary says what a pass did.
type Summary struct {
	Due             int  `json:"due"`             // operations whose time had come
	Checked         int  `json:"checked"`         // operations that Gemini was asked about
	Settled         int  `json:"settled"`         // operations found ended, and settled by this pass
	Running         int  `json:"running"`         // of those checked: known, and nothing to settle
	Unknown         int  `json:"unknown"`         // of those: Gemini gave no usable answer
	Missing         int  `json:"missing"`         // of those: not found at Gemini
	Stuck           int  `json:"stuck"`           // of those: pending for longer than they should
	EffectsRequeued int  `json:"effectsRequeued"` // effects handed over again
	Errors          int  `json:"errors"`          // records that could not be handled; the others were
	More            bool `json:"more"`            // the time ran out before everything due was seen

	// EffectsUncertain counts, of those handed over, the effects whose worker let its lease run out: they may have happened.
	EffectsUncertain int `json:"effectsUncertain"`
	// OldestOperationSeconds is how long, of the operations due, the one that waited longest had been due.
	OldestOperationSeconds int64 `json:"oldestOperationSeconds"`
	// OldestEffectSeconds is how long, of the effects handed over, the one that waited longest could have been claimed.
	OldestEffectSeconds int64 `json:"oldestEffectSeconds"`
}

// LogAttrs returns what a pass did as fields of a log line, under the names that they have in JSON.
func (s Summary) LogAttrs() []any {
	return []any{
		"due", s.Due, "checked", s.Checked, "settled", s.Settled, "running", s.Running, "unknown", s.Unknown,
		"missing", s.Missing, "stuck", s.Stuck, "effectsRequeued", s.EffectsRequeued, "effectsUncertain", s.EffectsUncertain,
		"oldestOperationSeconds", s.OldestOperationSeconds, "oldestEffectSeconds", s.OldestEffectSeconds,
		"errors", s.Errors, "more", s.More,
	}
}

// A counter is a Summary that many goroutines add to.
type counter struct {
	log *slog.Logger
	sync.Mutex
	Summary
	denied sync.Once
	// unannounced counts the operations found SUCCEEDED and settled by this pass. Gemini announces each of
	// those to a webhook; of other ends it announces some.
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

// fail counts and logs an error that concerns one record; here is where something is done about it.
func (c *counter) fail(ctx context.Context, doing string, err error) {
	if ctx.Err() != nil || errors.Is(err, errNoTime) {
		c.more() // the time ran out; that is no error of the record's
		return
	}
	c.add(&c.Errors)
	c.log.ErrorContext(ctx, doing, "event", "reconcile", "outcome", "error", "error", err)
}
