package reconcile

import (
	"context"
	"errors"

	"github.com/opledger/opledger/shared/ledger"
)

// lookUpJob takes the next steps of a job, where the worker died that made them possible. That is a job's
// look-up: Gemini is not asked, so no rate limit is waited for.
func (p *pass) lookUpJob(ctx context.Context, due ledger.DueOperation) {
	claimed, err := p.lookups.Claim(ctx, due)
	if err != nil {
		if !errors.Is(err, ledger.ErrConflict) {
			p.count.fail(ctx, "claiming a job for this pass", err)
		}
		return
	}
	p.count.add(&p.count.Checked)
	p.reportClaim(ctx, claimed)
	advanced, err := p.Ledger.Jobs.Advance(ctx, due.Record.Key)
	if advanced.DeadlineReached {
		p.Log.ErrorContext(ctx, ledger.DeadlineMessage, "event", "alert", "reason", "job-deadline", "operation",
			due.Record.Key, "since", advanced.Job.Options.Deadline)
	}
	if err != nil {
		p.count.fail(ctx, "advancing a job", err)
		return
	}
	p.reportUnpublished(ctx, advanced.PublishErr)
	if advanced.Settled {
		p.count.add(&p.count.Settled)
		return
	}
	p.count.add(&p.count.Running)
	if due.DefersAlert { // it is stuck, unless it has taken a step since its last look-up
		p.alertStuck(ctx, claimed)
	}
}
