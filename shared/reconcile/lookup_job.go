package reconcile

import (
	"context"
	"errors"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
)

// lookUpJob takes the next steps of a job, where the worker died that made them possible. That is a job's
// look-up: Gemini is not asked, so no rate limit is waited for.
func (p *pass) lookUpJob(ctx context.Context, due ledger.DueOperation) {
	claimed, err := p.lookups.Claim(ctx, due)
	if err != nil {
		p.count.fail(ctx, "claiming a job for this pass", err)
		return
	}
	p.count.add(&p.count.Checked)
	p.reportClaim(ctx, claimed)
	advanced, err := p.Ledger.Jobs.Advance(ctx, due.Record.Key)
	if err != nil {
		p.count.fail(ctx, "advancing a job", err)
		return
	}
	p.reportUnpublished(ctx, advanced.PublishErr)
	if advanced.Settled {
		p.count.add(&p.count.Settled)
		p.Log.InfoContext(ctx, "a job has ended", advanced.LogAttrs()...)
		return
	}
	p.count.add(&p.count.Running)
	p.alertWaiting(ctx, advanced)
	p.alertHeld(ctx, advanced.Job)
	if due.DefersAlert { // it is stuck, unless it has taken a step since its last look-up
		p.alertStuck(ctx, claimed)
	}
}

// waitsLong is for how long a job that has no room takes no step before it is alerted.
const waitsLong = 6 * time.Hour

// alertWaiting alerts, once a pass, that a job has started nothing for long, because others have all batches, or the
// tokens of its model.
func (p *pass) alertWaiting(ctx context.Context, a ledger.Advanced) {
	if a.Wants.For == "" || p.start.Sub(a.Job.SteppedAt) < waitsLong {
		return
	}
	reason := "job-batches"
	if a.Wants.For == job.WaitsForTokens {
		reason = "job-tokens"
	}
	p.Log.ErrorContext(ctx, "a job has had no room for its next batch for a long time", "event", "alert", "reason", reason,
		"operation", a.Job.Key, "since", a.Job.SteppedAt, "model", a.Job.Options.Model, "tokens", a.Wants.Tokens)
}

// alertHeld alerts that opledger holds a job, and records it: a pass that dies in between lets the next alert again.
func (p *pass) alertHeld(ctx context.Context, j job.Job) {
	if !j.AlertsHold() {
		return
	}
	p.Log.ErrorContext(ctx, "a job is held: it starts nothing until someone resumes or cancels it", "event", "alert",
		"reason", "job-held", "operation", j.Key, "hold", j.Hold.Reason, "why", j.Hold.Why)
	if err := p.Ledger.Jobs.Alerted(ctx, j.Key, j.Hold.At); err != nil {
		p.count.fail(ctx, "recording an alert about a job", err)
	}
}

// dropHeld has the ledger list as held no longer what an older revision, or a process that died, has left: a job that
// has ended, or was deleted.
func (p *pass) dropHeld(ctx context.Context, running ledger.RunningBatches) {
	for _, held := range running.HeldJobs() {
		j, err := p.Ledger.Jobs.Read(ctx, held.Job)
		if err == nil && !j.Held() || errors.Is(err, ledger.ErrNoJob) {
			_, err = p.Ledger.Jobs.Advance(ctx, held.Job)
		}
		if err != nil && !errors.Is(err, ledger.ErrNoJob) {
			p.count.fail(ctx, "checking a job that is listed as held", err)
		}
	}
}
