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
			got[ledger.Registered](w)(w.Ledger.Register(w.Ctx, r))
		}
		got[ledger.Receipt](w)(w.Ledger.Ingest(w.Ctx, success(w, i)))
		got[ledger.Intent](w)(w.Ledger.Intend(w.Ctx, ledger.Intention{
			Submission: operation.Submission{CorrelationID: fmt.Sprint("open-", i)},
		}))
		s := suspect
		s.ID = fmt.Sprint("suspect-", i)
		got[bool](w)(w.Ledger.Quarantine(w.Ctx, s))
	}
	got[ledger.Grant](w)(w.Ledger.Claim(w.Ctx, nameOf(2).Key, publish))
	pass := got[*ledger.Lookups](w)(w.Ledger.BeginLookups(w.Ctx, time.Minute))
	w.must(pass.Report(w.Ctx, ledger.Pass{Outcome: ledger.PassDone}))
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
		reading("LastPass", func(c ctx, l l) (ledger.Pass, error) { last, _, err := l.LastPass(c); return last, err }),
		reading("Refusals", func(c ctx, l l) (ledger.Refusals, error) { return l.Refusals(c) }),
		reading("Record", func(c ctx, l l) (record, error) { return l.Record(c, key) }),
		reading("Find", func(c ctx, l l) ([]operation.Key, error) { return l.Find(c, nameOf(2)) }),
		reading("Find/of a bare id", func(c ctx, l l) ([]operation.Key, error) {
			return l.Find(c, operation.Name{Key: "2", Resource: "2"})
		}).sparing(ledger.OperationsCollection),
		reading("Show", func(c ctx, l l) (ledger.Story, error) { return l.Show(c, key) }),
		reading("Ends", func(c ctx, l l) (ledger.Page[record], error) { return l.Ends(c, start, 10) }),
		reading("List", func(c ctx, l l) (ledger.Page[record], error) { return l.List(c, ledger.Filter{Limit: 10}) }),
		reading("List/of two states", func(c ctx, l l) (ledger.Page[record], error) {
			return l.List(c, ledger.Filter{States: []operation.State{operation.Succeeded, operation.Pending}, Limit: 10})
		}),
		reading("List/of dead ones", func(c ctx, l l) (ledger.Page[record], error) {
			return l.List(c, ledger.Filter{Dead: true, Limit: 10})
		}),
		reading("CountOperations", func(c ctx, l l) (ledger.Total, error) {
			return l.CountOperations(c, ledger.Filter{Dead: true})
		}),
		reading("DueOperations", func(c ctx, l l) (ledger.Page[ledger.DueOperation], error) {
			return l.DueOperations(c, later(), start, 10)
		}),
		reading("DueEffects", func(c ctx, l l) (ledger.Page[ledger.DueEffect], error) {
			return l.DueEffects(c, later(), start, 10)
		}),
		reading("DueIntents", func(c ctx, l l) (ledger.Page[ledger.DueIntent], error) {
			return l.DueIntents(c, later(), start, 10)
		}),
		reading("OpenEffects", func(c ctx, l l) (ledger.Page[ledger.DueEffect], error) {
			return l.OpenEffects(c, start, 10)
		}),
		reading("WaitingIntents", func(c ctx, l l) (ledger.Page[ledger.DueIntent], error) {
			return l.WaitingIntents(c, start, 10)
		}),
		reading("CountOpenEffects", func(c ctx, l l) (ledger.Total, error) { return l.CountOpenEffects(c) }),
		reading("CountRunningEffects", func(c ctx, l l) (ledger.Total, error) { return l.CountRunningEffects(c) }),
		reading("FailingEffects", func(c ctx, l l) (ledger.Page[ledger.Effect], error) {
			return l.FailingEffects(c, later(), start, 10)
		}),
		reading("CountFailingEffects", func(c ctx, l l) (ledger.Total, error) { return l.CountFailingEffects(c, later()) }),
		reading("CountWaitingIntents", func(c ctx, l l) (ledger.Total, error) { return l.CountWaitingIntents(c) }),
		reading("CountQuarantined", func(c ctx, l l) (ledger.Total, error) {
			return l.CountQuarantined(c, ledger.QuarantineFilter{})
		}),
		reading("ListQuarantined", func(c ctx, l l) (ledger.Page[ledger.Quarantined], error) {
			return l.ListQuarantined(c, ledger.QuarantineFilter{Limit: 10})
		}),
		reading("ReadQuarantined", func(c ctx, l l) (string, error) {
			_, body, err := l.ReadQuarantined(c, "suspect-2")
			return string(body), err
		}),
		reading("Effects", func(c ctx, l l) ([]any, error) {
			effects, broken, err := l.Effects(c, ledger.EffectName{Operation: key, Effect: publish},
				ledger.EffectName{Operation: nameOf(2).Key, Effect: publish})
			return []any{effects, broken}, err
		}),
		reading("DeadEffects", func(c ctx, l l) ([]any, error) {
			rec := record{Key: key}.WithEffect(publish, operation.EffectDead)
			effects, broken, err := l.DeadEffects(c, []record{rec})
			return []any{effects, broken}, err
		}),
		reading("Items", func(c ctx, l l) (ledger.Page[ledger.Item], error) {
			return l.Items(c, key, publish, start, 10)
		}),
		reading("WaitingItems", func(c ctx, l l) (ledger.Page[ledger.Item], error) {
			return l.WaitingItems(c, key, publish, start, 10)
		}),
		reading("FailedItems", func(c ctx, l l) (ledger.Page[ledger.Item], error) {
			return l.FailedItems(c, key, publish, start, 10)
		}),
		reading("ClaimStatus", func(c ctx, l l) (ledger.Verdict, error) { return l.ClaimStatus(c, nameOf(2).Key, publish) }),
		reading("Intent", func(c ctx, l l) (ledger.Intent, error) { return l.Intent(c, "open-2") }),
		reading("IntentOf", func(c ctx, l l) (ledger.Intent, error) {
			return l.IntentOf(c, record{
				Submission: operation.Submission{CorrelationID: "c-1"},
			})
		}),
		reading("CanForgetIntent", func(c ctx, l l) (any, error) {
			return nil, l.CanForgetIntent(c, ledger.Intent{
				Submission: operation.Submission{CorrelationID: "another"}, Operation: key,
			})
		}),
		reading("ReadUnverified", func(c ctx, l l) (ledger.Unverified, error) {
			return l.ReadUnverified(c, nameOf(9), "open-2", "d9")
		}),
		reading("Discover", func(c ctx, l l) ([]ledger.Finding, error) {
			return l.Discover(c, []ledger.Found{{Name: nameOf(2)}, {Name: nameOf(9), CorrelationID: "open-2"}})
		}),
	}
}
