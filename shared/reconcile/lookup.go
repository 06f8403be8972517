package reconcile

import (
	"context"
	"errors"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// lookUp looks up all due operations. It counts every failure and goes on; its error is that of the
// function each.
func (p *pass) lookUp(ctx context.Context) error {
	for _, err := range p.lookups.Recover(ctx) {
		p.count.fail(ctx, "making due the operations of an unfinished pass", err)
	}
	prepare := func(page []ledger.DueOperation) {
		for _, due := range page {
			since := due.Record.DueAt
			if due.Record.CreatedAt.After(since) { // it was registered late, and has waited only since then
				since = due.Record.CreatedAt
			}
			p.count.oldest(&p.count.OldestOperationSeconds, p.start, since)
		}
		if err := p.lookups.Prepare(ctx, page, p.delivered); err != nil {
			p.count.fail(ctx, "marking the operations of this pass", err)
		}
		p.listing.prepare(ctx, batchesAmong(page))
	}
	return each(ctx, p.count, p.start, p.Ledger.Operations.Due, prepare, func(due ledger.DueOperation) error {
		p.count.add(&p.count.Due)
		return p.lookUpOne(ctx, due)
	})
}

// lookUpOne claims an operation for this pass, unless another pass did, and then asks Gemini for its
// state. The alert that it is stuck waits for the answer, because it may have ended [R4]. Where the claim
// fails, the operation stays due.
func (p *pass) lookUpOne(ctx context.Context, due ledger.DueOperation) error {
	due.Quiet = p.Ledger.Passes.AlertsStuck(due, p.start)
	answer, inList := p.listed(due)
	if !inList {
		if err := p.pace.wait(ctx); err != nil {
			return err
		}
	}
	claimed, err := p.lookups.Claim(ctx, due)
	if err != nil {
		if !errors.Is(err, ledger.ErrConflict) { // of a conflict: another pass has claimed it, or it has ended
			p.count.fail(ctx, "claiming an operation for this pass", err)
		}
		return nil
	}
	p.count.add(&p.count.Checked)
	p.reportStuck(ctx, claimed)
	if !inList {
		answer = p.ask(ctx, due.Name())
	}
	if ended := answer.Known() && answer.State.Terminal(); due.Quiet && !ended && ctx.Err() == nil {
		claimed = p.alertStuck(ctx, claimed)
	}
	p.ingestAnswer(ctx, claimed.Operation, answer)
	return nil
}

// alertStuck alerts that an operation is stuck, and returns it as it is now. Where its record changed
// after the claim it sends no alert: the next look-up does.
func (p *pass) alertStuck(ctx context.Context, claimed ledger.LookUpClaim) ledger.LookUpClaim {
	alerted, err := p.Ledger.Passes.AlertStuck(ctx, claimed.Operation)
	if err != nil {
		if !errors.Is(err, ledger.ErrConflict) {
			p.count.fail(ctx, "alerting that an operation is stuck", err)
		}
		return claimed
	}
	p.reportStuck(ctx, alerted)
	return alerted
}

// nameEvery: an operation that Gemini's list says is running is asked for by name at every twelfth
// look-up. The list may go on to say so after it has ended.
const nameEvery = 12

// listed returns the answer of Gemini's list, where it is enough. That an operation is running is not
// enough before it is alerted as stuck, and at every nameEvery-th look-up [R6].
func (p *pass) listed(due ledger.DueOperation) (lookup.Answer, bool) {
	answer, found := p.listing.known(due.Record.Key)
	byName := due.Quiet || (due.Record.LookUps+1)%nameEvery == 0
	return answer, found && (answer.State.Terminal() || !byName)
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

// reportStuck counts and logs an operation that is stuck, by its claim.
func (p *pass) reportStuck(ctx context.Context, claimed ledger.LookUpClaim) {
	if claimed.Stuck {
		p.count.add(&p.count.Stuck)
	}
	if rec := claimed.Operation.Record; claimed.Alert {
		p.Log.WarnContext(ctx, "an operation has been pending for too long", "event", "alert", "reason", "stuck",
			"operation", rec.Key, "submittedAt", rec.SubmittedAt, "attempt", rec.LookUps)
	}
	p.reportUnpublished(ctx, claimed.PublishErr)
}

// ask asks Gemini for one operation by name. Where Gemini fails to answer, a batch is searched for in
// the list.
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
