package reconcile

import (
	"context"
	"time"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
)

// alertUnanswered logs that Gemini answered none of the look-ups. That it refuses the key has an alert of its own.
func (p *pass) alertUnanswered(ctx context.Context, first lookup.Answer) {
	if first.Reason != lookup.Denied {
		p.Log.WarnContext(ctx, "Gemini answered none of the look-ups", "event", "alert", "reason", "unanswered",
			"lookUps", p.count.unanswered, "answer", first.Reason, "error", first.Err)
	}
}

// report stores how the pass ended after so long. failed: nothing could be read.
func (p *pass) report(ctx context.Context, took time.Duration, failed error) {
	c := p.count
	last := p.last
	last.Began, last.Ended = p.start, p.start.Add(took)
	last.Due, last.Checked, last.Settled, last.Requeued = c.Due, c.Checked, c.Settled, c.EffectsRequeued
	last.Answered, last.Errors, last.Newer, last.Error = c.answered, c.Errors, c.Newer, c.first
	if first := c.firstUnanswered; c.unanswered > 0 && c.answered == 0 {
		last.Unanswered = &ledger.Unanswered{
			LookUps: c.unanswered, Reason: first.Reason, Error: ledger.PassError(first.Err),
		}
		p.alertUnanswered(ctx, first)
	}
	if p.Effects != nil {
		last.Effects = p.Effects()
	}
	switch {
	case failed != nil:
		last.Outcome, last.Error = ledger.PassFailed, ledger.PassError(failed)
	case c.Errors > 0:
		last.Outcome = ledger.PassErrors
	case c.More:
		last.Outcome = ledger.PassMore
	default:
		last.Outcome = ledger.PassDone
	}
	if err := p.lookups.Report(ctx, last); err != nil {
		c.fail(ctx, "storing how the pass ended", err)
	}
}
