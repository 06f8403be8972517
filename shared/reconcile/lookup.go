package reconcile

import (
	"context"
	"errors"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// lookUp looks up the operations that are due. The error is that of each.
func (p *pass) lookUp(ctx context.Context) error {
	for _, err := range p.lookups.Recover(ctx) {
		p.count.fail(ctx, "making due the operations of an unfinished pass", err)
	}
	prepare := func(page []ledger.DueOperation) {
		for _, due := range page {
			since := due.Record.DueAt
			if due.Record.CreatedAt.After(since) { // a late registration is no backlog
				since = due.Record.CreatedAt
			}
			p.count.oldest(&p.count.OldestOperationSeconds, p.start, since)
		}
		if err := p.lookups.Prepare(ctx, page, p.delivered); err != nil {
			p.count.fail(ctx, "marking the operations of this pass", err)
		}
		p.listing.prepare(ctx, batchesAmong(page))
	}
	return each(ctx, p.count, p.start, p.Ledger.DueOperations, prepare, func(due ledger.DueOperation) error {
		p.count.add(&p.count.Due)
		return p.lookUpOne(ctx, due)
	})
}

// lookUpOne claims an operation for this pass, unless another pass did, and looks it up. One that is to
// be alerted as stuck is alerted after that: what has ended is not [R4]. After an error it stays due.
func (p *pass) lookUpOne(ctx context.Context, due ledger.DueOperation) error {
	due.Quiet = p.Ledger.AlertsStuck(due, p.start)
	answer, known := p.listed(due)
	if !known {
		if err := p.pace.wait(ctx); err != nil {
			return err
		}
	}
	claimed, err := p.lookups.Claim(ctx, due)
	if err != nil {
		if !errors.Is(err, ledger.ErrConflict) { // else another pass has it, or it has ended
			p.count.fail(ctx, "claiming an operation for this pass", err)
		}
		return nil
	}
	p.count.add(&p.count.Checked)
	p.claimed(ctx, claimed)
	if !known {
		answer = p.ask(ctx, due.Name())
	}
	if ended := answer.Known() && answer.State.Terminal(); due.Quiet && !ended && ctx.Err() == nil {
		claimed = p.alertStuck(ctx, claimed)
	}
	p.ingestAnswer(ctx, claimed.Operation, answer)
	return nil
}

// alertStuck alerts that an operation is stuck, and returns it as it is now. Where it was changed since
// its claim, the next look-up alerts.
func (p *pass) alertStuck(ctx context.Context, claimed ledger.LookUpClaim) ledger.LookUpClaim {
	alerted, err := p.Ledger.AlertStuck(ctx, claimed.Operation)
	if err != nil {
		if !errors.Is(err, ledger.ErrConflict) {
			p.count.fail(ctx, "alerting that an operation is stuck", err)
		}
		return claimed
	}
	p.claimed(ctx, alerted)
	return alerted
}

// nameEvery is how rarely an operation may be asked for by name that a list says is running: a row of
// the list may stay as it is after the end.
const nameEvery = 12

// listed returns what Gemini's list says of an operation, unless that must not be relied on: it says
// that the operation has not ended, which is to be alerted, or was last asked for by name long ago [R6].
func (p *pass) listed(due ledger.DueOperation) (lookup.Answer, bool) {
	answer, known := p.listing.known(due.Record.Key)
	byName := due.Quiet || (due.Record.Attempts+1)%nameEvery == 0
	return answer, known && (answer.State.Terminal() || !byName)
}

func batchesAmong(due []ledger.DueOperation) []operation.Key {
	var keys []operation.Key
	for _, d := range due {
		if d.Record.Collection == operation.Batches {
			keys = append(keys, d.Record.Key)
		}
	}
	return keys
}

// claimed counts and logs what a claim found.
func (p *pass) claimed(ctx context.Context, claimed ledger.LookUpClaim) {
	if claimed.Stuck {
		p.count.add(&p.count.Stuck)
	}
	if rec := claimed.Operation.Record; claimed.Alert {
		p.Log.WarnContext(ctx, "an operation has been pending for too long", "event", "alert", "reason", "stuck",
			"operation", rec.Key, "submittedAt", rec.SubmittedAt, "attempt", rec.Attempts)
	}
	p.unpublished(ctx, claimed.PublishErr)
}

// ask looks one operation up. A batch whose look-up fails is looked for in the list.
func (p *pass) ask(ctx context.Context, name operation.Name) lookup.Answer {
	answer := p.Gemini.Lookup(ctx, name)
	p.pace.note(answer.Err)
	failed := answer.Reason == lookup.Unavailable || answer.Reason == lookup.Timeout
	if failed && name.Key.Collection() == operation.Batches {
		if listed, found := p.listing.find(ctx, name.Key); found {
			return listed
		}
	}
	return answer
}

// ingestAnswer ingests Gemini's answer. Where the ledger has it, or it has no news, the look-up is
// concluded. Otherwise the operation is due again after one interval.
func (p *pass) ingestAnswer(ctx context.Context, due ledger.DueOperation, answer lookup.Answer) {
	key := due.Record.Key
	if !answer.Known() {
		if p.inconclusive(ctx, due, answer) {
			p.lookups.Conclude(key)
		}
		return
	}
	event := answer.Event(due.Name())
	receipt, err := p.Ledger.IngestAnswer(ctx, due, event)
	if !p.ingested(ctx, event, receipt, err) {
		return
	}
	p.lookups.Conclude(key)
	if !receipt.Settled {
		p.count.add(&p.count.Running)
	}
	if due.Record.HasCondition() && receipt.Outcome == ledger.Dropped { // else the event has cleared it
		p.noteAnswer(ctx, due, "")
	}
}

// ingest ingests an event that was made from Gemini's answer, and reports whether it could.
func (p *pass) ingest(ctx context.Context, e operation.Event) (ledger.Receipt, bool) {
	receipt, err := p.Ledger.Ingest(ctx, e)
	return receipt, p.ingested(ctx, e, receipt, err)
}

// ingested counts and logs what became of Gemini's answer. It reports whether it was ingested.
func (p *pass) ingested(ctx context.Context, e operation.Event, receipt ledger.Receipt, err error) bool {
	if err != nil {
		p.count.fail(ctx, "ingesting Gemini's answer", err)
		return false
	}
	p.unpublished(ctx, receipt.PublishErr)
	p.withheld(ctx, receipt.Key, receipt.Withheld)
	if receipt.Settled {
		p.count.add(&p.count.Settled)
		if receipt.State == operation.Succeeded {
			p.count.add(&p.count.unannounced)
		}
	}
	if receipt.Outcome != ledger.Dropped { // usually nothing has changed
		p.Log.InfoContext(ctx, "looked an operation up", "event", "ingest", "source", operation.Reconcile,
			"operation", receipt.Key, "state", receipt.State, "outcome", receipt.Outcome, "reason", receipt.Reason,
			"announced", receipt.Settled && p.delivered && announced(e))
	}
	return true
}

// announced reports whether Gemini sends an event for an end. It sends none for a cancellation, a
// video that failed, and an interaction that ended incomplete or over budget [R4].
func announced(end operation.Event) bool {
	switch end.State {
	case operation.Succeeded, operation.Expired:
		return true
	case operation.Failed:
		unfinished := end.Result.ErrorCode == "incomplete" || end.Result.ErrorCode == "budget_exceeded"
		return end.Key.Collection() != operation.Operations && !unfinished
	default:
		return false
	}
}

// inconclusive counts a look-up whose answer has no state, and records its reason. It closes nothing
// [R4]. It reports whether the reason is recorded.
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
		p.count.denied.Do(func() { // once per pass, because it is most likely about the key
			p.Log.ErrorContext(ctx, "Gemini refuses the API key, or the key may not see an operation", "event", "alert",
				"reason", "denied",
				"operation", due.Record.Key, "error", answer.Err)
		})
	} else {
		p.Log.WarnContext(ctx, "a look-up was inconclusive", "event", "reconcile",
			"operation", due.Record.Key, "outcome", "unknown", "reason", answer.Reason, "error", answer.Err)
	}
	return p.noteAnswer(ctx, due, ledger.Condition(answer.Reason))
}

// noteAnswer records why a look-up was inconclusive or, with an empty condition, that it was
// conclusive. It reports whether it is recorded.
func (p *pass) noteAnswer(ctx context.Context, due ledger.DueOperation, condition ledger.Condition) bool {
	noted, err := p.Ledger.NoteAnswer(ctx, due, condition)
	if err != nil {
		p.count.fail(ctx, "recording an operation's condition", err)
		return false
	}
	p.noted(ctx, due.Record.Key, noted)
	return true
}

// noted logs an alert that an operation has been missing for too long [R4].
func (p *pass) noted(ctx context.Context, key operation.Key, noted ledger.Noted) {
	if noted.Alert {
		p.Log.WarnContext(ctx, "Gemini has not found an operation for a long time", "event", "alert", "reason", "missing",
			"operation", key)
	}
	p.unpublished(ctx, noted.PublishErr)
}

// withheld logs that effects were not planned [L3].
func (p *pass) withheld(ctx context.Context, key operation.Key, effects int) {
	if effects > 0 {
		p.Log.WarnContext(ctx, ledger.WithheldMessage, "event", "effect", "outcome", "withheld", "operation", key,
			"effects", effects)
	}
}

// unpublished counts effects that wait for the sweep.
func (p *pass) unpublished(ctx context.Context, err error) {
	if err != nil {
		p.count.fail(ctx, "publishing effects", err)
	}
}
