package reconcile

import (
	"context"
	"time"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A look-up has five steps: mark, claim, ask, alert, ingest. A claim makes the operation due at its next
// look-up, which may be hours away. A crash after it leaves an operation that is claimed and has no answer:
// by its mark, made before the claim, a later pass makes it due at once [R6].

// lookUp looks up every operation that was due when the pass began. A failure of one is counted and does
// not stop the others. It returns an error only if the first page of due operations could not be read.
func (p *pass) lookUp(ctx context.Context) error {
	for _, err := range p.lookups.Recover(ctx) {
		p.count.fail(ctx, "making due the operations of an interrupted pass", err)
	}
	prepare := func(page []ledger.DueOperation) {
		for _, due := range page {
			since := due.Record.DueAt
			if due.Record.CreatedAt.After(since) { // due before it was registered: it has waited since it was
				since = due.Record.CreatedAt
			}
			p.count.oldest(&p.count.OldestOperationSeconds, p.start, since)
		}
		if err := p.lookups.Prepare(ctx, page, p.delivered); err != nil {
			p.count.fail(ctx, "marking the operations of this pass", err)
		}
		p.listing.prepare(ctx, batchesAmong(page))
	}
	window := newWindow(p.pace.atOnce)
	find := behind(p.lookups, ledger.OperationsCollection, p.Ledger.Operations.Due)
	return each(ctx, p.count, window, p.start, find, prepare, func(due ledger.DueOperation) error {
		p.count.add(&p.count.Due)
		return p.lookUpOne(ctx, due)
	})
}

// lookUpOne claims an operation for this pass, gets its state from Gemini's list or by its name, and
// ingests that. Of a job it takes the next steps, without a request. Only a request by name waits for the rate
// limit. The alert that the operation is stuck waits for the answer, so that none is sent for one that has
// ended. A look-up that failed does not prevent it [R4]; one that the end of the pass cut off does. An error
// means that the pass has no time left.
func (p *pass) lookUpOne(ctx context.Context, due ledger.DueOperation) error {
	due.DefersAlert = p.Ledger.Passes.StuckAlertDue(due, p.start)
	if due.Record.Collection == operation.Jobs {
		p.lookUpJob(ctx, due)
		return nil
	}
	answer, listed := p.listed(due)
	if !listed {
		if err := p.pace.wait(ctx); err != nil {
			return err
		}
	}
	began := time.Now()
	claimed, err := p.lookups.Claim(ctx, due)
	if err != nil { // in a conflict another pass has claimed it, or it has ended
		p.count.fail(ctx, "claiming an operation for this pass", err)
		return nil
	}
	p.count.add(&p.count.Checked)
	p.reportClaim(ctx, claimed)
	if !listed {
		answer = p.ask(ctx, due.Name())
	}
	if ctx.Err() == nil {
		p.count.noteAnswer(answer)
	}
	ended := answer.Known() && answer.State.Terminal()
	if due.DefersAlert && !ended && ctx.Err() == nil { // an answer that was cut off says nothing of the operation
		claimed = p.alertStuck(ctx, claimed)
	}
	p.ingestAnswer(ctx, claimed.Operation, answer)
	if !listed {
		p.pace.took(time.Since(began))
	}
	return nil
}

// alertStuck alerts that an operation is stuck, and returns the changed claim, or the given one after an
// error. In a conflict the record has changed since the claim, and no alert is sent: if the operation is
// still pending, its next look-up sends it.
func (p *pass) alertStuck(ctx context.Context, claimed ledger.LookUpClaim) ledger.LookUpClaim {
	alerted, err := p.Ledger.Passes.AlertStuck(ctx, claimed.Operation)
	if err != nil {
		p.count.fail(ctx, "alerting that an operation is stuck", err)
		return claimed
	}
	p.reportClaim(ctx, alerted)
	return alerted
}

// byNameEvery: Gemini's list may show an operation as running after it has ended. So one that the list
// shows as running is asked for by its name at every twelfth look-up.
const byNameEvery = 12

// listed returns the answer of Gemini's list, and whether it suffices. A terminal state always does. Any
// other does not if this look-up may alert that the operation is stuck, nor at every byNameEvery-th one [R6].
func (p *pass) listed(due ledger.DueOperation) (lookup.Answer, bool) {
	answer, found := p.listing.known(due.Record.Key)
	byName := due.DefersAlert || (due.Record.LookUps+1)%byNameEvery == 0
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

// reportClaim counts and logs the result of a claim: a stuck operation, its alert, and that the alert's
// effects could not be published.
func (p *pass) reportClaim(ctx context.Context, claimed ledger.LookUpClaim) {
	if claimed.Stuck {
		p.count.add(&p.count.Stuck)
	}
	if rec := claimed.Operation.Record; claimed.Alert {
		p.Log.WarnContext(ctx, "an operation has been pending for too long", "event", "alert", "reason", "stuck",
			"operation", rec.Key, "submittedAt", rec.SubmittedAt, "attempt", rec.LookUps)
	}
	p.reportUnpublished(ctx, claimed.PublishErr)
}

// ask asks Gemini for one operation by its name. Where the request is not answered, a batch is searched
// for in the list: even "running" is better than no answer.
func (p *pass) ask(ctx context.Context, name operation.Name) lookup.Answer {
	answer := p.Gemini.Lookup(ctx, name)
	p.pace.note(answer.Err)
	failed := answer.Reason == lookup.Unavailable || answer.Reason == lookup.Timeout
	if failed && name.Key.Collection() == operation.Batches {
		if entry, found := p.listing.find(ctx, name.Key); found {
			return entry
		}
	}
	return answer
}
