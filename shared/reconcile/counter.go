package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
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
	Newer           int  `json:"newer"`           // documents left alone, because a newer revision wrote them
	More            bool `json:"more"`            // it ended before everything due was handled: time, or a full queue

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
		"errors", s.Errors, "newer", s.Newer, "more", s.More,
	}
}

// A counter is a Summary for concurrent use.
type counter struct {
	log *slog.Logger
	sync.Mutex
	Summary
	denied sync.Once
	long   sync.Once // Gemini's list was too long
	// succeeded counts the operations that this pass settled as SUCCEEDED. Gemini delivers an event
	// for each of those, and for only some of the other terminal states.
	succeeded int
	// answered counts the look-ups that Gemini answered, and unanswered the others, the first with its answer. One that
	// was cut off, or for which nothing was sent, is neither.
	answered, unanswered int
	firstUnanswered      lookup.Answer
	newer                map[ledger.Path]error // the documents of a newer revision
	first                string                // the first error that fail counted
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

// noteAnswer counts whether Gemini answered a look-up.
func (c *counter) noteAnswer(answer lookup.Answer) {
	switch answer.Reason {
	case lookup.Cancelled, lookup.Unsupported, lookup.InvalidName:
		return // it says nothing about Gemini
	}
	c.Lock()
	defer c.Unlock()
	if !answer.Unanswered() {
		c.answered++
		return
	}
	if c.unanswered++; c.unanswered == 1 {
		c.firstUnanswered = answer
	}
}

func (c *counter) more() {
	c.Lock()
	defer c.Unlock()
	c.More = true
}

// fail counts and logs an error that concerns one item. doing is the log message. A conflict is no error: another
// pass, a worker or a delivery was first, and has done it.
func (c *counter) fail(ctx context.Context, doing string, err error) {
	if errors.Is(err, ledger.ErrConflict) {
		return
	}
	if ctx.Err() != nil || errors.Is(err, errNoTime) {
		c.more() // the time ran out, which is no error of the item
		return
	}
	if c.isNewer(err) {
		return
	}
	c.Lock()
	c.Errors++
	if c.first == "" {
		c.first = ledger.PassError(fmt.Errorf("%s: %w", doing, err))
	}
	c.Unlock()
	c.log.ErrorContext(ctx, doing, "event", "reconcile", "outcome", "error", "error", err)
}

// isNewer reports whether err is about a document of a newer revision, and counts each such document
// once [L6].
func (c *counter) isNewer(err error) bool {
	left, broken := errors.AsType[ledger.Broken](err)
	if !broken || !errors.Is(err, ledger.ErrNewer) {
		return false
	}
	c.Lock()
	defer c.Unlock()
	if c.newer == nil {
		c.newer = map[ledger.Path]error{}
	}
	c.newer[left.Path] = left
	c.Newer = len(c.newer)
	return true
}

// alertNewer logs, in one line, the documents that were left to a newer revision.
func (c *counter) alertNewer(ctx context.Context) {
	for _, left := range c.newer { // one as an example
		c.log.ErrorContext(ctx, "a newer revision wrote what this one leaves alone: deploy that one again, or a later one",
			"event", "reconcile", "outcome", "newer", "documents", c.Newer, "error", left)
		return
	}
}
