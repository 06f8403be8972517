package firestore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// beside returns the world over a connection of its own.
func (w *faultWorld) beside(t testing.TB) *faultWorld {
	t.Helper()
	other := &faultWorld{TB: t, ctx: t.Context(), project: w.project, start: w.start}
	options := harness.ClientOptions(harness.Firestore(t), other.wires.options()...)
	store, err := firestore.Open(t.Context(), w.project, "", options...)
	other.must(err)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	other.store = ledgertest.Skew(store)
	other.l, err = ledger.New(unreadable{other.store}, w.l.Settings(), ledger.Options{Jitter: func() float64 { return 0 }})
	other.must(err)
	return other
}

// populate arranges several of all that a list may show.
func populate(w *faultWorld) {
	failedItems(w)
	for i := 2; i < 5; i++ {
		for _, n := range []int{i, 10 + i} {
			r := ledger.Registration{Name: nameOf(n), SubmittedAt: w.start.Add(-time.Hour)}
			got[ledger.Registered](w)(w.l.Register(w.ctx, r))
		}
		got[ledger.Receipt](w)(w.l.Ingest(w.ctx, success(i, fmt.Sprint("delivery-", i))))
		got[ledger.Intent](w)(w.l.Intend(w.ctx, ledger.Intention{CorrelationID: fmt.Sprint("open-", i)}))
		s := suspect
		s.ID = fmt.Sprint("suspect-", i)
		got[bool](w)(w.l.Quarantine(w.ctx, s))
	}
	got[ledger.Grant](w)(w.l.Claim(w.ctx, nameOf(2).Key, publish))
	pass := got[*ledger.Lookups](w)(w.l.BeginLookups(w.ctx, time.Minute))
	w.must(pass.Report(w.ctx, ledger.Pass{Outcome: ledger.PassDone}))
}

// reading is the row of a call that only reads.
func reading[T any](name string, read func(ctx context.Context, l *ledger.Ledger) (T, error)) faultCall {
	return faultCall{name: name, reads: true, act: func(w *faultWorld) (any, error) {
		return read(w.ctx, w.l)
	}}
}

// later is a time at which all is due.
func later() time.Time { return time.Now().Add(100 * 24 * time.Hour) }

func readCalls() []faultCall {
	type (
		ctx    = context.Context
		l      = *ledger.Ledger
		record = operation.Record
	)
	var start ledger.Cursor
	return []faultCall{
		reading("Now", func(c ctx, l l) (bool, error) { now, err := l.Now(c); return now.IsZero(), err }),
		reading("LastPass", func(c ctx, l l) (ledger.Pass, error) { last, _, err := l.LastPass(c); return last, err }),
		reading("Record", func(c ctx, l l) (record, error) { return l.Record(c, key) }),
		reading("Find", func(c ctx, l l) ([]operation.Key, error) { return l.Find(c, nameOf(2)) }),
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
		reading("Effects", func(c ctx, l l) ([]ledger.Effect, error) {
			effects, _, err := l.Effects(c, ledger.EffectName{Operation: key, Effect: publish},
				ledger.EffectName{Operation: nameOf(2).Key, Effect: publish})
			return effects, err
		}),
		reading("DeadEffects", func(c ctx, l l) ([]ledger.Effect, error) {
			rec := record{Key: key}.WithEffect(publish, operation.EffectDead)
			effects, _, err := l.DeadEffects(c, []record{rec})
			return effects, err
		}),
		reading("FailedItems", func(c ctx, l l) (ledger.Page[ledger.Item], error) {
			return l.FailedItems(c, key, publish, start, 10)
		}),
		reading("ClaimStatus", func(c ctx, l l) (ledger.Verdict, error) { return l.ClaimStatus(c, nameOf(2).Key, publish) }),
		reading("Intent", func(c ctx, l l) (ledger.Intent, error) { return l.Intent(c, "open-2") }),
		reading("IntentOf", func(c ctx, l l) (ledger.Intent, error) { return l.IntentOf(c, record{CorrelationID: "c-1"}) }),
		reading("CanForgetIntent", func(c ctx, l l) (any, error) {
			return nil, l.CanForgetIntent(c, ledger.Intent{CorrelationID: "another", Operation: key})
		}),
		reading("ReadUnverified", func(c ctx, l l) (ledger.Unverified, error) {
			return l.ReadUnverified(c, nameOf(9), "open-2", "d9")
		}),
		reading("Discover", func(c ctx, l l) ([]ledger.Finding, error) {
			return l.Discover(c, []ledger.Found{{Name: nameOf(2)}, {Name: nameOf(9), CorrelationID: "open-2"}})
		}),
	}
}
