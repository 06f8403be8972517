package reconcile

import (
	"context"
	"time"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// ingestAnswer ingests Gemini's answer. The look-up is concluded once the ledger has ingested the
// answer, or recorded why there was none. Otherwise a later pass makes the operation due again, after
// one interval.
func (p *pass) ingestAnswer(ctx context.Context, due ledger.DueOperation, answer lookup.Answer) {
	key := due.Record.Key
	if !answer.Known() {
		if p.inconclusive(ctx, due, answer) {
			p.lookups.Conclude(key)
		}
		return
	}
	event := answer.Event(due.Name())
	receipt, err := p.Ledger.Operations.IngestAnswer(ctx, due, event)
	if !p.reportIngest(ctx, event, receipt, err) {
		return
	}
	p.lookups.Conclude(key)
	if !receipt.Settled {
		p.count.add(&p.count.Running)
	}
	if due.Record.HasCondition() && receipt.Outcome == ledger.Dropped { // any other event has cleared it
		p.recordAnswer(ctx, due, "")
	}
}

// ingest ingests an event that was made from Gemini's answer. It returns false after an error.
func (p *pass) ingest(ctx context.Context, e operation.Event) (ledger.Receipt, bool) {
	receipt, err := p.Ledger.Operations.Ingest(ctx, e)
	return receipt, p.reportIngest(ctx, e, receipt, err)
}

// reportIngest counts and logs the outcome of Gemini's answer. It returns false after an error.
func (p *pass) reportIngest(ctx context.Context, e operation.Event, receipt ledger.Receipt, err error) bool {
	if err != nil {
		p.count.fail(ctx, "ingesting Gemini's answer", err)
		return false
	}
	p.reportUnpublished(ctx, receipt.PublishErr)
	p.reportWithheld(ctx, receipt.Key, receipt.Withheld)
	p.reportTwin(ctx, receipt)
	if receipt.Settled {
		p.count.add(&p.count.Settled)
		if receipt.State == operation.Succeeded {
			p.count.add(&p.count.succeeded)
		}
	}
	if receipt.Outcome != ledger.Dropped { // most look-ups find no change, and are not logged
		log := p.Log
		if receipt.Settled && receipt.Registered {
			log = log.With("settled_seconds", receipt.After.Round(time.Millisecond).Seconds())
		}
		log.InfoContext(ctx, "looked an operation up", "event", "ingest", "source", operation.Reconcile,
			"operation", receipt.Key, "state", receipt.State, "outcome", receipt.Outcome, "reason", receipt.Reason,
			"announced", receipt.Settled && p.delivered && operation.Announced(e.Key, e.State, e.Result))
	}
	return true
}

// reportTwin logs the alert of a second batch of a job's part, with the event that makes it known [J2].
func (p *pass) reportTwin(ctx context.Context, receipt ledger.Receipt) {
	if receipt.Twin {
		p.Log.ErrorContext(ctx, ledger.TwinMessage, "event", "alert", "reason", "twin", "operation", receipt.Key)
	}
}

// inconclusive counts a look-up whose answer has no state, and records its reason, unless the time of
// the pass is over. It never ends an operation [R4]. It reports whether the reason is recorded.
func (p *pass) inconclusive(ctx context.Context, due ledger.DueOperation, answer lookup.Answer) bool {
	switch {
	case answer.Reason == lookup.NotFound:
		p.count.add(&p.count.Missing)
	case ctx.Err() != nil: // the pass's time ran out
		p.count.add(&p.count.Unknown)
		p.count.more()
		return false
	default:
		p.count.add(&p.count.Unknown)
	}
	if answer.Reason == lookup.Denied {
		p.count.denied.Do(func() { // once per pass: a wrong API key denies every look-up
			p.Log.ErrorContext(ctx, "Gemini refuses the API key, or the key may not see an operation", "event", "alert",
				"reason", "denied",
				"operation", due.Record.Key, "error", answer.Err)
		})
	} else {
		p.Log.WarnContext(ctx, "a look-up was inconclusive", "event", "reconcile",
			"operation", due.Record.Key, "outcome", "unknown", "reason", answer.Reason, "error", answer.Err)
	}
	return p.recordAnswer(ctx, due, ledger.Condition(answer.Reason))
}

// recordAnswer records why a look-up was inconclusive or, with an empty condition, that it was
// conclusive. It reports whether it is recorded.
func (p *pass) recordAnswer(ctx context.Context, due ledger.DueOperation, condition ledger.Condition) bool {
	noted, err := p.Ledger.Operations.RecordAnswer(ctx, due, condition)
	if err != nil {
		p.count.fail(ctx, "recording an operation's condition", err)
		return false
	}
	p.reportMissing(ctx, due.Record.Key, noted)
	return true
}

// reportMissing logs the alert that an operation has been missing for too long, where one is due [R4].
func (p *pass) reportMissing(ctx context.Context, key operation.Key, noted ledger.Recorded) {
	if noted.Alert {
		p.Log.WarnContext(ctx, "Gemini has not found an operation for a long time; if many: is this the right project's key?",
			"event", "alert", "reason", "missing", "operation", key)
	}
	p.reportUnpublished(ctx, noted.PublishErr)
}

// reportWithheld logs how many effects were not planned, because the operation ended too long ago [L3].
func (p *pass) reportWithheld(ctx context.Context, key operation.Key, effects int) {
	if effects > 0 {
		p.Log.WarnContext(ctx, ledger.WithheldMessage, "event", "effect", "outcome", "withheld", "operation", key,
			"effects", effects)
	}
}

// reportUnpublished counts a failure to publish messages of effects, which the sweep publishes later.
func (p *pass) reportUnpublished(ctx context.Context, err error) {
	if err != nil {
		p.count.fail(ctx, "publishing effects", err)
	}
}
