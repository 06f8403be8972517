package calls

import (
	"errors"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

var errBroken = errors.New("the receiver refused it")

func nothing(*World) {}

func ingests(e func(w *World) operation.Event) func(w *World) (any, error) {
	return func(w *World) (any, error) { return w.Ledger.Operations.Ingest(w.Ctx, e(w)) }
}

func ended(delivery string, state operation.State) func(w *World) operation.Event {
	return func(w *World) operation.Event { return w.event(delivery, state) }
}

// marked is an event with the correlation id of the world's operation.
func marked(w *World) operation.Event {
	e := w.event("d1", operation.Succeeded)
	e.CorrelationID = "c-1"
	return e
}

// past is an end longer ago than the retention.
func past(w *World) operation.Event {
	e := w.event("past", operation.Succeeded)
	e.UpdateTime = w.Start.Add(-30 * 24 * time.Hour)
	return e
}

// misnamed is a marked event under a name that Gemini did not issue.
func misnamed(w *World) operation.Event {
	e := marked(w)
	e.Name = operation.Name{Key: "batches/other-form", Resource: "batches/other-form"}
	return e
}

// disputing is a marked event under a name that Gemini issued to another operation.
func disputing(w *World) operation.Event {
	e := marked(w)
	issued := "batches/" + strings.Repeat("a", 36)
	e.Name = operation.Name{Key: operation.Key(issued), Resource: issued}
	return e
}

func (w *World) intend() {
	got[ledger.Intent](w)(w.Ledger.Intents.Intend(w.Ctx, ledger.Intention{
		Submission: operation.Submission{CorrelationID: "c-1", JobKind: "kind"}, Attempt: "first",
	}))
}

var registers = func(w *World) (any, error) {
	registered, err := w.Ledger.Operations.Register(w.Ctx, w.registration())
	return registered.Record.State, err // after a lost answer the operation counts as known
}

var operationCalls = []Call{
	{Name: "Operations.Register/a new one", Arrange: nothing, Act: registers},
	{Name: "Operations.Register/with an intent", Arrange: (*World).intend, Act: registers},
	{Name: "Operations.Register/after its end [W5]", Arrange: func(w *World) {
		got[any](w)(ingests(ended("early", operation.Succeeded))(w))
	}, Act: registers},
	{Name: "Operations.Register/after its end under another name [K6]", Arrange: func(w *World) {
		got[any](w)(ingests(misnamed)(w))
	}, Act: registers},
	{Name: "Operations.Register/long after its end [L3]", Arrange: func(w *World) { got[any](w)(ingests(past)(w)) },
		Act: registers},
	{Name: "Operations.Register/where effects of a former record are left [L3]", Arrange: func(w *World) {
		w.succeed()
		w.expire(ledger.OperationPath(key))
		got[any](w)(ingests(ended("early", operation.Succeeded))(w))
	}, Act: registers},
	{Name: "Operations.Ingest/applied", Arrange: (*World).register, Act: ingests(ended("d1", operation.Succeeded))},
	{Name: "Operations.Ingest/with its id [K6]", Arrange: (*World).register, Act: ingests(marked)},
	{Name: "Operations.Ingest/long after its end [L3]", Arrange: (*World).register, Act: ingests(past)},
	{Name: "Operations.Ingest/where effects of a former record are left [L3]", Arrange: func(w *World) {
		w.succeed()
		w.expire(ledger.OperationPath(key))
		w.register()
	}, Act: ingests(ended("d1", operation.Succeeded))},
	{Name: "Operations.Ingest/dropped", Arrange: (*World).succeed, Act: ingests(ended("d2", operation.Running))},
	{Name: "Operations.Ingest/another end [M5]", Arrange: (*World).succeed, Act: ingests(ended("d3", operation.Failed))},
	{Name: "Operations.Ingest/unregistered [W5]", Arrange: nothing, Act: ingests(marked)},
	{Name: "Operations.Ingest/binds an intent [G6]", Arrange: (*World).intend, Act: ingests(marked)},
	{Name: "Operations.Ingest/under another name [K6]", Arrange: (*World).register,
		Act: ingests(misnamed)},
	{Name: "Operations.Ingest/of another operation [K6]", Arrange: (*World).registerEarly, Act: ingests(disputing)},
	{Name: "Operations.MakeDueNow", Arrange: (*World).registerEarly, Act: func(w *World) (any, error) {
		return w.Ledger.Operations.MakeDueNow(w.Ctx, key)
	}},
	{Name: "Operations.Abandon", Arrange: (*World).register, Act: func(w *World) (any, error) {
		return w.Ledger.Operations.Abandon(w.Ctx, key, ledger.Decision{By: "an operator", Why: "it is gone"})
	}},
	{Name: "Operations.RequestCancel", Arrange: (*World).register, Act: func(w *World) (any, error) {
		return w.Ledger.Operations.RequestCancel(w.Ctx, key, ledger.Decision{By: "an operator", Why: "the prompt was wrong"})
	}},
	{Name: "Operations.ResolveConflict", Arrange: func(w *World) {
		w.succeed()
		got[any](w)(ingests(ended("d3", operation.Failed))(w))
	}, Act: func(w *World) (any, error) {
		seen, err := w.Ledger.Operations.Read(w.Ctx, key)
		if err != nil {
			return nil, err
		}
		return w.Ledger.Operations.ResolveConflict(w.Ctx, seen, ledger.Decision{By: "an operator", Why: "the first is true"})
	}},
	{Name: "Operations.ResolveUnregistered", Arrange: func(w *World) { got[any](w)(ingests(marked)(w)) },
		Act: func(w *World) (any, error) {
			return w.Ledger.Operations.ResolveUnregistered(w.Ctx, key, ledger.Decision{By: "an operator", Why: "it is not ours"})
		}},
	{Name: "Effects.ResolveLeftOut", Arrange: leavesOut, Act: func(w *World) (any, error) {
		return w.Ledger.Effects.ResolveLeftOut(w.Ctx, publish, ledger.Decision{By: "an operator", Why: "it moved"})
	}},
	{Name: "StoreSettings/without an effect", Arrange: func(w *World) {
		_, err := w.Ledger.StoreSettings(w.Context(), ledger.NewStoredSettings("serve", w.Ledger.Settings().Rules, nil))
		w.must(err)
	}, Act: func(w *World) (any, error) {
		_, err := w.Ledger.StoreSettings(w.Ctx, ledger.NewStoredSettings("serve", nil, nil))
		return nil, err
	}},
	{Name: "StoreSettings", Arrange: nothing, Act: func(w *World) (any, error) {
		_, err := w.Ledger.StoreSettings(w.Ctx, ledger.NewStoredSettings("serve", w.Ledger.Settings().Rules, nil))
		return nil, err
	}},
	// After an error serve adds the refusals again, since it cannot know that they were added: their count
	// may then be too high, and is never too low.
	{Name: "Passes.AddRefusals", Arrange: nothing, Once: true, Act: func(w *World) (any, error) {
		var refused ledger.Refusals
		refused.Refuse("signature", time.Unix(0, 0))
		_, err := w.Ledger.Passes.AddRefusals(w.Ctx, refused, time.Unix(0, 0))
		return nil, err
	}, Loose: []string{"count", "version", "_revision"}},
	{Name: "Passes.StorePause", Arrange: nothing, Act: func(w *World) (any, error) {
		return nil, w.Ledger.Passes.StorePause(w.Ctx, ledger.EffectsPaused)
	}},
	{Name: "Operations.RecordCondition", Arrange: (*World).register, Act: notes},
	{Name: "Operations.RecordCondition/missing for long [R4]", Arrange: func(w *World) {
		w.register()
		got[any](w)(notes(w))
		w.Store.Advance(24 * time.Hour)
	}, Act: notes},
	{Name: "Passes.RepairDueTimes", Arrange: nothing, Act: func(w *World) (any, error) {
		return w.Ledger.Passes.RepairDueTimes(w.Ctx, w.Start)
	}},
	{Name: "Passes.AlertAbout", Arrange: nothing, Act: func(w *World) (any, error) {
		alerted, err := w.Ledger.Passes.AlertAbout(w.Ctx, "webhooks/w1", ledger.AlertDisabled, w.Start, "switched off")
		return alerted.Planned, err
	}},
	{Name: "Operations.Forget", Arrange: func(w *World) {
		w.claim()
		w.record(0, 3)
		w.must(w.Ledger.Effects.Finish(w.Ctx, w.Lease))
	}, Act: func(w *World) (any, error) {
		return w.Ledger.Operations.Forget(w.Ctx,
			key)
	}, Settled: []error{ledger.ErrNotFound}},
}

func notes(w *World) (any, error) {
	return w.Ledger.Operations.RecordCondition(w.Ctx, key, ledger.ConditionNotFound)
}

// due is a pass that has found the world's operation an hour after its submission.
func due(w *World) {
	w.register()
	w.pass(time.Hour)
}

// claimed is due, with the operation claimed by the pass.
func claimed(w *World) {
	due(w)
	p, err := w.lookups.Claim(w.Ctx, w.operation)
	w.must(err)
	w.operation = p.Operation
}

func postpones(w *World) (any, error) {
	p, err := w.Ledger.Passes.ClaimLookUp(w.Ctx, w.operation, w.lookups.Start())
	return []any{p.Stuck, p.Alert, p.Planned}, err
}

// old is a pass that finds an operation whose look-ups are widened, and leaves a mark for it.
func old(w *World) {
	r := w.registration()
	r.SubmittedAt = w.Start.Add(-5 * time.Hour)
	got[ledger.Registered](w)(w.Ledger.Operations.Register(w.Ctx, r))
	w.pass(0)
}

func prepares(w *World) (any, error) {
	page := []ledger.DueOperation{w.operation}
	err := w.lookups.Prepare(w.Ctx, page, true)
	w.operation = page[0]
	return nil, err
}

// died is a pass that begins after another one died between its move and its answer.
func died(w *World) {
	old(w)
	got[any](w)(prepares(w))
	got[ledger.LookUpClaim](w)(w.lookups.Claim(w.Ctx, w.operation))
	w.pass(2 * time.Minute)
}

var passCalls = []Call{
	{Name: "Passes.ClaimLookUp", Arrange: due, Act: postpones, Settled: []error{ledger.ErrConflict}},
	{Name: "Passes.ClaimLookUp/stuck [R4]", Arrange: func(w *World) {
		w.register()
		w.pass(24 * time.Hour)
	}, Act: postpones, Settled: []error{ledger.ErrConflict}},
	{Name: "Passes.AlertStuck", Arrange: func(w *World) {
		w.register()
		w.pass(24 * time.Hour)
		w.operation.DefersAlert = true
		w.operation = got[ledger.LookUpClaim](w)(w.Ledger.Passes.ClaimLookUp(w.Ctx, w.operation, w.lookups.Start())).Operation
	}, Act: func(w *World) (any, error) {
		p, err := w.Ledger.Passes.AlertStuck(w.Ctx, w.operation)
		return []any{p.Stuck, p.Alert, p.Planned}, err
	}, Settled: []error{ledger.ErrConflict}},
	{Name: "Operations.IngestAnswer/ended", Arrange: claimed, Act: func(w *World) (any, error) {
		e := w.event("reconcile-1", operation.Succeeded)
		e.Source = operation.Reconcile
		return w.Ledger.Operations.IngestAnswer(w.Ctx, w.operation, e)
	}},
	{Name: "Operations.RecordAnswer", Arrange: claimed, Act: func(w *World) (any, error) {
		return w.Ledger.Operations.RecordAnswer(w.Ctx, w.operation, ledger.ConditionNotFound)
	}},
	{Name: "Lookups.Prepare", Arrange: old, Act: prepares},
	{Name: "Lookups.Claim", Arrange: old, Act: func(w *World) (any, error) {
		_, err := w.lookups.Claim(w.Ctx, w.operation)
		return nil, err
	}, Settled: []error{ledger.ErrConflict}},
	{Name: "Lookups.Recover", Arrange: died, Act: func(w *World) (any, error) {
		return nil, errors.Join(w.lookups.Recover(w.Ctx)...)
	}},
	{Name: "Lookups.End", Arrange: func(w *World) {
		old(w)
		got[any](w)(prepares(w))
	}, Act: func(w *World) (any, error) { return nil, w.lookups.End(w.Ctx) }},
	{Name: "Lookups.Report", Arrange: func(w *World) { w.pass(0) }, Act: func(w *World) (any, error) {
		return nil, w.lookups.Report(w.Ctx, ledger.Pass{Began: w.Start, Ended: w.Start, Outcome: ledger.PassDone})
	}},
	{Name: "Passes.Begin", Act: func(w *World) (any, error) {
		_, err := w.Ledger.Passes.Begin(w.Ctx, time.Minute)
		return nil, err
	}, Reads: true, Spares: ledger.PassesCollection},
}

// leavesOut is a start without any effect, after one with all.
func leavesOut(w *World) {
	for _, rules := range [][]ledger.Rule{w.Ledger.Settings().Rules, nil} {
		_, err := w.Ledger.StoreSettings(w.Context(), ledger.NewStoredSettings("serve", rules, nil))
		w.must(err)
	}
}
