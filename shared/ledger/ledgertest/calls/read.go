package calls

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Populate arranges several of all that a list may show.
func Populate(w *World) {
	failedItems(w)
	for i := 2; i < 5; i++ {
		for _, n := range []int{i, 10 + i} {
			r := ledger.Registration{Name: nameOf(n), SubmittedAt: w.Start.Add(-time.Hour)}
			got[ledger.Registered](w)(w.Ledger.Operations.Register(w.Ctx, r))
		}
		got[ledger.Receipt](w)(w.Ledger.Operations.Ingest(w.Ctx, success(w, i)))
		got[ledger.Intent](w)(w.Ledger.Intents.Intend(w.Ctx, ledger.Intention{
			Submission: operation.Submission{CorrelationID: fmt.Sprint("open-", i)},
		}))
		s := suspect
		s.ID = fmt.Sprint("suspect-", i)
		got[bool](w)(w.Ledger.Quarantine.Add(w.Ctx, s))
	}
	got[ledger.Grant](w)(w.Ledger.Effects.Claim(w.Ctx, nameOf(2).Key, publish))
	pass := got[*ledger.Lookups](w)(w.Ledger.Passes.Begin(w.Ctx, time.Minute))
	w.must(pass.Report(w.Ctx, ledger.Pass{Outcome: ledger.PassDone}))
	leavesOut(w)
	lease := w.Lease
	split(w)
	got[ledger.Advanced](w)(w.Ledger.Jobs.Advance(w.Ctx, nightly))
	w.Lease = lease
}

// success is the end of one of several operations.
func success(w *World, i int) operation.Event {
	e := w.event(fmt.Sprint("delivery-", i), operation.Succeeded)
	e.Name = nameOf(i)
	return e
}

// reading is the row of a call that only reads.
func reading[T any](name string, read func(ctx context.Context, l *ledger.Ledger) (T, error)) Call {
	return Call{Name: name, Reads: true, Act: func(w *World) (any, error) {
		return read(w.Ctx, w.Ledger)
	}}
}

func (c Call) sparing(collection string) Call {
	c.Spares = collection
	return c
}

// withoutAudit is an effect that no operation has.
func withoutAudit() ledger.LeftOut {
	return ledger.LeftOut{Rule: ledger.Rule{Name: "audit", On: []operation.State{operation.Succeeded}}}
}

// later is a time at which all is due.
func later() time.Time { return time.Now().Add(100 * 24 * time.Hour) }

func readCalls() []Call {
	type (
		ctx    = context.Context
		l      = *ledger.Ledger
		record = operation.Record
	)
	var start ledger.Cursor
	return []Call{
		reading("Now", func(c ctx, l l) (bool, error) { now, err := l.Now(c); return now.IsZero(), err }),
		reading("Passes.Last", func(c ctx, l l) (ledger.Pass, error) { last, _, err := l.Passes.Last(c); return last, err }),
		reading("Passes.Refusals", func(c ctx, l l) (ledger.Refusals, error) { return l.Passes.Refusals(c) }),
		reading("Operations.Read", func(c ctx, l l) (record, error) { return l.Operations.Read(c, key) }),
		reading("Operations.Find", func(c ctx, l l) ([]operation.Key, error) { return l.Operations.Find(c, nameOf(2)) }),
		reading("Operations.Find/of a bare id", func(c ctx, l l) ([]operation.Key, error) {
			return l.Operations.Find(c, operation.Name{Key: "2", Resource: "2"})
		}).sparing(ledger.OperationsCollection),
		reading("Operations.FindDelivery", func(c ctx, l l) (operation.Key, error) {
			return l.Operations.FindDelivery(c, "delivery-2")
		}),
		reading("Operations.Show", func(c ctx, l l) (ledger.Story, error) { return l.Operations.Show(c, key) }),
		reading("Operations.Ends", func(c ctx, l l) (ledger.Page[record], error) { return l.Operations.Ends(c, start, 10) }),
		reading("Operations.List",
			func(c ctx, l l) (ledger.Page[record], error) { return l.Operations.List(c, ledger.Filter{Limit: 10}) }),
		reading("Operations.List/of two states", func(c ctx, l l) (ledger.Page[record], error) {
			return l.Operations.List(c,
				ledger.Filter{States: []operation.State{operation.Succeeded, operation.Pending}, Limit: 10})
		}),
		reading("Operations.List/of dead ones", func(c ctx, l l) (ledger.Page[record], error) {
			return l.Operations.List(c, ledger.Filter{Dead: true, Limit: 10})
		}),
		reading("Operations.List/of those without an effect", func(c ctx, l l) (ledger.Page[record], error) {
			return l.Operations.List(c, ledger.Filter{Without: withoutAudit(), Limit: 10})
		}),
		reading("Effects.LeftOut", func(c ctx, l l) ([]ledger.LeftOut, error) { return l.Effects.LeftOut(c) }),
		reading("Effects.FindLeftOut", func(c ctx, l l) (ledger.LeftOut, error) {
			return l.Effects.FindLeftOut(c, alarm)
		}),
		reading("Operations.Count", func(c ctx, l l) (ledger.Total, error) {
			return l.Operations.Count(c, ledger.Filter{Dead: true})
		}),
		reading("Operations.Due", func(c ctx, l l) (ledger.Page[ledger.DueOperation], error) {
			return l.Operations.Due(c, later(), start, 10)
		}),
		reading("Effects.Due", func(c ctx, l l) (ledger.Page[ledger.DueEffect], error) {
			return l.Effects.Due(c, later(), start, 10)
		}),
		reading("Intents.Due", func(c ctx, l l) (ledger.Page[ledger.DueIntent], error) {
			return l.Intents.Due(c, later(), start, 10)
		}),
		reading("Effects.Open", func(c ctx, l l) (ledger.Page[ledger.DueEffect], error) {
			return l.Effects.Open(c, start, 10)
		}),
		reading("Intents.Waiting", func(c ctx, l l) (ledger.Page[ledger.DueIntent], error) {
			return l.Intents.Waiting(c, start, 10)
		}),
		reading("Effects.CountOpen", func(c ctx, l l) (ledger.Total, error) { return l.Effects.CountOpen(c) }),
		reading("Effects.CountRunning", func(c ctx, l l) (ledger.Total, error) { return l.Effects.CountRunning(c) }),
		reading("Effects.Failing", func(c ctx, l l) (ledger.Page[ledger.Effect], error) {
			return l.Effects.Failing(c, later(), start, 10)
		}),
		reading("Effects.CountFailing", func(c ctx, l l) (ledger.Total, error) { return l.Effects.CountFailing(c, later()) }),
		reading("Intents.CountWaiting", func(c ctx, l l) (ledger.Total, error) { return l.Intents.CountWaiting(c) }),
		reading("Quarantine.Count", func(c ctx, l l) (ledger.Total, error) {
			return l.Quarantine.Count(c, ledger.QuarantineFilter{})
		}),
		reading("Quarantine.List", func(c ctx, l l) (ledger.Page[ledger.Quarantined], error) {
			return l.Quarantine.List(c, ledger.QuarantineFilter{Limit: 10})
		}),
		reading("Quarantine.Read", func(c ctx, l l) (string, error) {
			_, body, err := l.Quarantine.Read(c, "suspect-2")
			return string(body), err
		}),
		reading("Effects.Read", func(c ctx, l l) ([]any, error) {
			effects, broken, err := l.Effects.Read(c, ledger.EffectName{Operation: key, Effect: publish},
				ledger.EffectName{Operation: nameOf(2).Key, Effect: publish})
			return []any{effects, broken}, err
		}),
		reading("Effects.Dead", func(c ctx, l l) ([]any, error) {
			rec := record{Key: key}.WithEffect(publish, operation.EffectDead)
			effects, broken, err := l.Effects.Dead(c, []record{rec})
			return []any{effects, broken}, err
		}),
		reading("Items.List", func(c ctx, l l) (ledger.Page[ledger.Item], error) {
			return l.Items.List(c, key, publish, start, 10)
		}),
		reading("Items.Documents", func(c ctx, l l) ([]any, error) {
			documents, next, err := l.Items.Documents(c, key, publish, "reviews", start, 10)
			return []any{documents, next}, err
		}),
		reading("Items.Waiting", func(c ctx, l l) (ledger.Page[ledger.Item], error) {
			return l.Items.Waiting(c, key, publish, start, 10)
		}),
		reading("Items.Failed", func(c ctx, l l) (ledger.Page[ledger.Item], error) {
			return l.Items.Failed(c, key, publish, start, 10)
		}),
		reading("Effects.ClaimStatus",
			func(c ctx, l l) (ledger.Verdict, error) { return l.Effects.ClaimStatus(c, nameOf(2).Key, publish) }),
		reading("Intents.Read", func(c ctx, l l) (ledger.Intent, error) { return l.Intents.Read(c, "open-2") }),
		reading("Intents.Of", func(c ctx, l l) (ledger.Intent, error) {
			return l.Intents.Of(c, record{
				Submission: operation.Submission{CorrelationID: "c-1"},
			})
		}),
		reading("Intents.CanForget", func(c ctx, l l) (any, error) {
			return nil, l.Intents.CanForget(c, ledger.Intent{
				Submission: operation.Submission{CorrelationID: "another"}, Operation: key,
			})
		}),
		reading("Operations.ReadUnverified", func(c ctx, l l) (ledger.Unverified, error) {
			return l.Operations.ReadUnverified(c, nameOf(9), "open-2", "d9")
		}),
		reading("Operations.Discover", func(c ctx, l l) ([]ledger.Finding, error) {
			return l.Operations.Discover(c, []ledger.Found{{Name: nameOf(2)}, {Name: nameOf(9), CorrelationID: "open-2"}})
		}),
	}
}
