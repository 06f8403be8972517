package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// submittedTwice is the correlation id under which two batches were submitted.
const submittedTwice = "nightly"

// TwoNames is the small world of an intent under whose id two batches were submitted, which have both
// ended: each is registered, the event of the first arrives, a pass is made, and the time in which
// the intent is waited for runs out.
func TwoNames() Small {
	return Small{
		Setup: setUpTwoNames,
		Jumps: []time.Duration{settings().StuckAfter + time.Minute},
		End:   boundOnce,
	}
}

func setUpTwoNames(w *World, x *Walking) {
	must(w.before().Intents.Intend(context.Background(), ledger.Intention{
		Submission: operation.Submission{CorrelationID: submittedTwice},
	}))
	now := w.gemini.now()
	for i := range 2 {
		resource := fmt.Sprintf("batches/%036d", i+1)
		j := &batch{
			name: operation.Name{Key: operation.Key(resource), Resource: resource}, correlation: submittedTwice,
			created: now, runs: now, ends: now, end: operation.Succeeded,
		}
		w.gemini.batches = append(w.gemini.batches, j)
		w.orders = append(w.orders, &order{id: resource, batches: []*batch{j}, registered: true, over: true})
		x.Start(resource, fmt.Sprintf("submitter %d", i+1), func(ctx context.Context, _ *actor, l *ledger.Ledger) error {
			_, err := l.Operations.Register(ctx, ledger.Registration{
				Name: j.name, Submission: operation.Submission{CorrelationID: submittedTwice},
			})
			if err == nil {
				w.check.keeps(j.name.Key)
			}
			return err
		})
	}
	first := w.gemini.batches[0]
	x.Start("webhook", "webhook", func(ctx context.Context, _ *actor, l *ledger.Ledger) error {
		receipt, err := l.Operations.Ingest(ctx, operation.Event{
			Name: first.name, DeliveryID: "msg", Source: operation.Webhook, State: first.end, UpdateTime: first.ends,
			CorrelationID: submittedTwice,
		})
		if err == nil {
			w.check.keepsDelivery(receipt.Key, "msg")
		}
		return err
	})
	x.Start("pass", "pass", func(ctx context.Context, _ *actor, l *ledger.Ledger) error {
		_, err := reconcile.New(reconcile.Options{
			Ledger: l, Gemini: lookups(), Dynamic: true, Log: slog.New(slog.DiscardHandler),
		}).Pass(ctx)
		return err
	})
}

// boundOnce checks that the intent is that of one operation, and that the operation says so.
func boundOnce(w *World) {
	l, err := ledger.New(observer{w.store}, w.settings, ledger.Options{})
	if err != nil {
		panic(err) // the settings are this package's own
	}
	found, err := l.Intents.Read(context.Background(), submittedTwice)
	if err != nil || found.State != ledger.IntentBound {
		w.check.violated("the intent is %s, %v [G6]", found.State, err)
	}
	for _, j := range w.gemini.batches {
		rec, _ := w.check.recordOf(j)
		if has := rec.CorrelationID == submittedTwice; has != (found.Operation == j.name.Key) {
			w.check.violated("%s has the id: %v, and the intent is that of %s [G6]", j.name.Key, has, found.Operation)
		}
	}
}
