package firestore_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

var (
	errBroken   = errors.New("the receiver refused it")
	errDeadline = context.DeadlineExceeded
)

// faultCalls are all calls of the ledger that ask the store.
func faultCalls() []faultCall {
	return slices.Concat(operationCalls, passCalls, effectCalls, itemCalls, intentCalls, quarantineCalls, readCalls())
}

func nothing(*faultWorld) {}

func ingests(e func(w *faultWorld) operation.Event) func(w *faultWorld) (any, error) {
	return func(w *faultWorld) (any, error) { return w.l.Ingest(w.ctx, e(w)) }
}

func ended(delivery string, state operation.State) func(w *faultWorld) operation.Event {
	return func(w *faultWorld) operation.Event { return w.event(delivery, state) }
}

// marked is an event with the correlation id of the world's operation.
func marked(w *faultWorld) operation.Event {
	e := w.event("d1", operation.Succeeded)
	e.CorrelationID = "c-1"
	return e
}

func (w *faultWorld) intend() {
	got[ledger.Intent](w)(w.l.Intend(w.ctx, ledger.Intention{CorrelationID: "c-1", JobKind: "kind"}))
}

var registers = func(w *faultWorld) (any, error) {
	registered, err := w.l.Register(w.ctx, w.registration())
	return registered.Record.State, err // after a lost answer the operation counts as known
}

var operationCalls = []faultCall{
	{name: "Register/a new one", arrange: nothing, act: registers},
	{name: "Register/with an intent", arrange: (*faultWorld).intend, act: registers},
	{name: "Register/after its end [W5]", arrange: func(w *faultWorld) {
		got[any](w)(ingests(ended("early", operation.Succeeded))(w))
	}, act: registers},
	{name: "Ingest/applied", arrange: (*faultWorld).register, act: ingests(ended("d1", operation.Succeeded))},
	{name: "Ingest/dropped", arrange: (*faultWorld).succeed, act: ingests(ended("d2", operation.Running))},
	{name: "Ingest/another end [M5]", arrange: (*faultWorld).succeed, act: ingests(ended("d3", operation.Failed))},
	{name: "Ingest/unregistered [W5]", arrange: nothing, act: ingests(marked)},
	{name: "Ingest/binds an intent [G6]", arrange: (*faultWorld).intend, act: ingests(marked)},
	{name: "Ingest/under another name [K6]", arrange: (*faultWorld).register,
		act: ingests(func(w *faultWorld) operation.Event {
			e := marked(w)
			e.Name = operation.Name{Key: "batches/other-form", Resource: "batches/other-form"}
			return e
		})},
	{name: "MakeDueNow", timely: true, arrange: (*faultWorld).register, act: func(w *faultWorld) (any, error) {
		return w.l.MakeDueNow(w.ctx, key)
	}},
	{name: "Abandon", arrange: (*faultWorld).register, act: func(w *faultWorld) (any, error) {
		return w.l.Abandon(w.ctx, key, ledger.Abandonment{By: "an operator", Why: "it is gone"})
	}},
	{name: "ResolveConflict", arrange: func(w *faultWorld) {
		w.succeed()
		got[any](w)(ingests(ended("d3", operation.Failed))(w))
	}, act: func(w *faultWorld) (any, error) {
		seen, err := w.l.Record(w.ctx, key)
		if err != nil {
			return nil, err
		}
		return w.l.ResolveConflict(w.ctx, seen, ledger.Abandonment{By: "an operator", Why: "the first is true"})
	}},
	{name: "StorePause", arrange: nothing, act: func(w *faultWorld) (any, error) {
		return nil, w.l.StorePause(w.ctx, ledger.EffectsPaused)
	}},
	{name: "NoteCondition", arrange: (*faultWorld).register, act: notes},
	{name: "NoteCondition/missing for long [R4]", arrange: func(w *faultWorld) {
		w.register()
		got[any](w)(notes(w))
		w.store.Advance(24 * time.Hour)
	}, act: notes},
	{name: "AlertAbout", arrange: nothing, act: func(w *faultWorld) (any, error) {
		alerted, err := w.l.AlertAbout(w.ctx, "webhooks/w1", ledger.AlertDisabled, w.start, "switched off")
		return alerted.Asked, err
	}},
	{name: "Forget", arrange: func(w *faultWorld) {
		w.claim()
		w.record(0, 3)
		w.must(w.l.Finish(w.ctx, w.lease))
	}, act: func(w *faultWorld) (any, error) { return w.l.Forget(w.ctx, key) }, settled: []error{ledger.ErrNotFound}},
}

func notes(w *faultWorld) (any, error) {
	return w.l.NoteCondition(w.ctx, key, ledger.ConditionNotFound)
}

// due is a pass that has found the world's operation an hour after its submission.
func due(w *faultWorld) {
	w.register()
	w.pass(time.Hour)
}

// claimed is due, with the operation claimed by the pass.
func claimed(w *faultWorld) {
	due(w)
	p, err := w.lookups.Claim(w.ctx, w.operation)
	w.must(err)
	w.operation = p.Operation
}

func postpones(w *faultWorld) (any, error) {
	p, err := w.l.Postpone(w.ctx, w.operation, w.lookups.Start())
	return []any{p.Stuck, p.Alert, p.Planned}, err
}

// old is a pass that finds an operation whose look-ups are widened, and leaves a mark for it.
func old(w *faultWorld) {
	r := w.registration()
	r.SubmittedAt = w.start.Add(-5 * time.Hour)
	got[ledger.Registered](w)(w.l.Register(w.ctx, r))
	w.pass(0)
}

func prepares(w *faultWorld) (any, error) {
	page := []ledger.DueOperation{w.operation}
	err := w.lookups.Prepare(w.ctx, page, true)
	w.operation = page[0]
	return nil, err
}

// died is a pass that begins after another one died between its move and its answer.
func died(w *faultWorld) {
	old(w)
	got[any](w)(prepares(w))
	got[ledger.Postponed](w)(w.lookups.Claim(w.ctx, w.operation))
	w.pass(2 * time.Minute)
}

var passCalls = []faultCall{
	{name: "Postpone", arrange: due, act: postpones, settled: []error{ledger.ErrConflict}},
	{name: "Postpone/stuck [R4]", arrange: func(w *faultWorld) {
		w.register()
		w.pass(24 * time.Hour)
	}, act: postpones, settled: []error{ledger.ErrConflict}},
	{name: "IngestAnswer/ended", arrange: claimed, act: func(w *faultWorld) (any, error) {
		e := w.event("reconcile-1", operation.Succeeded)
		e.Source = operation.Reconcile
		return w.l.IngestAnswer(w.ctx, w.operation, e)
	}},
	{name: "NoteAnswer", arrange: claimed, act: func(w *faultWorld) (any, error) {
		return w.l.NoteAnswer(w.ctx, w.operation, ledger.ConditionNotFound)
	}},
	{name: "Lookups.Prepare", arrange: old, act: prepares},
	{name: "Lookups.Claim", arrange: old, act: func(w *faultWorld) (any, error) {
		_, err := w.lookups.Claim(w.ctx, w.operation)
		return nil, err
	}, settled: []error{ledger.ErrConflict}},
	{name: "Lookups.Recover", arrange: died, act: func(w *faultWorld) (any, error) {
		return nil, errors.Join(w.lookups.Recover(w.ctx)...)
	}},
	{name: "Lookups.End", arrange: func(w *faultWorld) {
		old(w)
		got[any](w)(prepares(w))
	}, act: func(w *faultWorld) (any, error) { return nil, w.lookups.End(w.ctx) }},
	{name: "Lookups.Report", arrange: func(w *faultWorld) { w.pass(0) }, act: func(w *faultWorld) (any, error) {
		return nil, w.lookups.Report(w.ctx, ledger.Pass{Began: w.start, Ended: w.start, Outcome: ledger.PassDone})
	}},
	{name: "BeginLookups", act: func(w *faultWorld) (any, error) {
		_, err := w.l.BeginLookups(w.ctx, time.Minute)
		return nil, err
	}, reads: true},
}
