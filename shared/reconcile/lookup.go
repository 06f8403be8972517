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
	prepare := func(page []ledger.DueOperation) {
		for _, due := range page {
			since := due.Record.DueAt
			if due.Record.CreatedAt.After(since) { // a late registration is no backlog
				since = due.Record.CreatedAt
			}
			p.count.oldest(&p.count.OldestOperationSeconds, p.start, since)
		}
		p.listing.prepare(ctx, batchesAmong(page))
	}
	return each(ctx, p.count, p.start, p.Ledger.DueOperations, prepare, func(due ledger.DueOperation) error {
		p.count.add(&p.count.Due)
		answer, known := p.listing.known(due.Record.Key)
		if !known {
			if err := p.pace.wait(ctx); err != nil {
				return err // it stays due
			}
		}
		if !p.claim(ctx, due) {
			return nil
		}
		if !known {
			answer = p.ask(ctx, due.Name())
		}
		p.ingestAnswer(ctx, due, answer)
		return nil
	})
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

// claim reports whether this pass may look the operation up. No other pass does within this
// interval.
func (p *pass) claim(ctx context.Context, due ledger.DueOperation) bool {
	postponed, err := p.Ledger.Postpone(ctx, due, p.start)
	switch {
	case errors.Is(err, ledger.ErrConflict):
		return false // another pass has it, or a delivery changed it
	case err != nil:
		p.count.fail(ctx, "claiming an operation for this pass", err)
		return false
	}
	p.count.add(&p.count.Checked)
	if postponed.Stuck {
		p.count.add(&p.count.Stuck)
	}
	if postponed.Alert {
		p.Log.WarnContext(ctx, "an operation has been pending for too long", "event", "alert", "reason", "stuck",
			"operation", due.Record.Key, "submittedAt", due.Record.SubmittedAt, "attempt", due.Record.Attempts+1)
	}
	p.unpublished(ctx, postponed.PublishErr)
	return true
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

// ingestAnswer ingests Gemini's answer.
func (p *pass) ingestAnswer(ctx context.Context, due ledger.DueOperation, answer lookup.Answer) {
	name := due.Name()
	if !answer.Known() {
		p.inconclusive(ctx, name, answer)
		return
	}
	receipt, ok := p.ingest(ctx, answer.Event(name))
	if !ok {
		return
	}
	if !receipt.Settled {
		p.count.add(&p.count.Running)
	}
	if due.Record.HasCondition() {
		p.noteOrFail(ctx, name.Key, "")
	}
}

// ingest ingests an event that was made from Gemini's answer, and reports whether it could.
func (p *pass) ingest(ctx context.Context, e operation.Event) (ledger.Receipt, bool) {
	receipt, err := p.Ledger.Ingest(ctx, e)
	if err != nil {
		p.count.fail(ctx, "ingesting Gemini's answer", err)
		return receipt, false
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
			"operation", receipt.Key, "state", receipt.State, "outcome", receipt.Outcome, "reason", receipt.Reason)
	}
	return receipt, true
}

// inconclusive counts a look-up that does not tell the operation's state, and notes its reason on
// the record. It closes nothing [R4].
func (p *pass) inconclusive(ctx context.Context, name operation.Name, answer lookup.Answer) {
	switch {
	case answer.Reason == lookup.NotFound:
		p.count.add(&p.count.Missing)
	case ctx.Err() != nil: // the pass's time ran out
		p.count.add(&p.count.Unknown)
		p.count.more()
		return
	default:
		p.count.add(&p.count.Unknown)
	}
	if answer.Reason == lookup.Denied {
		p.count.denied.Do(func() { // once per pass, because it is most likely about the key
			p.Log.ErrorContext(ctx, "Gemini refuses the API key, or the key may not see an operation", "event", "alert",
				"reason", "denied",
				"operation", name.Key, "error", answer.Err)
		})
	} else {
		p.Log.WarnContext(ctx, "a look-up was inconclusive", "event", "reconcile",
			"operation", name.Key, "outcome", "unknown", "reason", answer.Reason, "error", answer.Err)
	}
	p.noteOrFail(ctx, name.Key, ledger.Condition(answer.Reason))
}

// note records why look-ups are inconclusive or, with an empty condition, that one was conclusive.
// An operation that is missing for too long is alerted [R4].
func (p *pass) note(ctx context.Context, key operation.Key, trouble ledger.Condition) error {
	noted, err := p.Ledger.NoteCondition(ctx, key, trouble)
	if err != nil {
		return err
	}
	if noted.Alert {
		p.Log.WarnContext(ctx, "Gemini has not found an operation for a long time", "event", "alert", "reason", "missing",
			"operation", key)
	}
	p.unpublished(ctx, noted.PublishErr)
	return nil
}

func (p *pass) noteOrFail(ctx context.Context, key operation.Key, trouble ledger.Condition) {
	if err := p.note(ctx, key, trouble); err != nil {
		p.count.fail(ctx, "noting an operation's condition", err)
	}
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
