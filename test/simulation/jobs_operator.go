package simulation

import (
	"context"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// act is what an operator does, in a process of its own.
func (w *World) act(what string, do func(context.Context, *ledger.Ledger) error) {
	const patience = 5 * time.Minute
	_ = w.serve(newProcess("operator"), what, patience, func(ctx context.Context, a *actor) error {
		return do(ctx, a.ledger())
	})
}

// cancelJob cancels a job.
func (w *World) cancelJob(s *submission) {
	w.gate.event("an operator cancels "+string(s.key), func() { s.cancelled = true })
	w.act("cancel", func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Jobs.Cancel(ctx, s.key, ledger.Decision{By: "operator", Why: "not needed"})
		return err
	})
}

// pauseJob pauses a job.
func (w *World) pauseJob(s *submission) {
	w.gate.event("an operator pauses "+string(s.key), func() { s.paused = true })
	w.act("pause", func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Jobs.Pause(ctx, s.key, ledger.Decision{By: "operator", Why: "is it right?"})
		return err
	})
}

// resumeJob lets a job go on that was paused, or that opledger holds, once an alert has said so.
func (w *World) resumeJob(s *submission) {
	held := false
	w.gate.event("an operator looks whether "+string(s.key)+" is held", func() {
		j, _ := w.jobOf(s.key)
		held = j.Hold != nil && (j.Hold.Reason == job.HeldByOperator || j.Hold.Alerted &&
			(j.Hold.Reason == job.HeldByPilot || j.Hold.Reason == job.HeldByReferences))
		if held {
			s.resumed = true
		}
	})
	if !held {
		return
	}
	w.act("resume", func(ctx context.Context, l *ledger.Ledger) error {
		return l.Jobs.Resume(ctx, s.key, ledger.Decision{By: "operator", Why: "it is right"})
	})
}

// changeJob changes what a job may cost, at once or only where it is held for that, once an alert has said so.
func (w *World) changeJob(s *submission, to func(float64) float64, held bool) {
	var cost float64
	changes := false
	w.gate.event("an operator thinks about the cost of "+string(s.key), func() {
		j, known := w.jobOf(s.key)
		changes = known && (!held || j.Hold != nil && j.Hold.Reason == job.HeldByCost && j.Hold.Alerted)
		if cost = to(j.Options.MaxCost); changes {
			s.changed = true
		}
	})
	if !changes {
		return
	}
	w.act("change", func(ctx context.Context, l *ledger.Ledger) error {
		because := ledger.Decision{By: "operator", Why: "it is worth it"}
		_, err := l.Jobs.Change(ctx, s.key, job.Limits{MaxCost: &cost}, because)
		return err
	})
}

// releasePart releases one part whose batch runs, or may have been created; or one whose batch never ends.
func (w *World) releasePart(s *submission, endless bool) {
	var part operation.Key
	w.gate.event("an operator thinks about "+string(s.key), func() {
		var given []operation.Key
		for _, p := range w.check.partsOf(s.key) {
			b := w.check.batchOf(p.Batch)
			ends := b == nil || !b.ends.IsZero()
			uncertain := p.State == job.Starting && p.Waits == job.WaitsForIntent
			if p.Released == nil && (p.State == job.Started || uncertain) && !(endless && ends) {
				given = append(given, p.Key)
			}
		}
		if len(given) > 0 {
			part = drawn(w, given)
			s.released[part] = true
		}
	})
	if part == "" {
		return
	}
	w.act("release", func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Jobs.Release(ctx, part, ledger.Decision{By: "operator", Why: "it takes too long"})
		return err
	})
}
