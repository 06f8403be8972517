package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// leaseOver is longer than a lease.
var leaseOver = settings().ClaimTTL + time.Minute

// A direct is the store without the gate, for what is there at the beginning.
type direct struct{ observer }

// Commit is the store's.
func (d direct) Commit(_ context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	return d.commit(&actor{name: "the script", began: time.Now()}, writes)
}

// before returns a ledger over the store without the gate.
func (w *World) before() *ledger.Ledger {
	drawn := 0
	l, err := ledger.New(direct{observer{w.store}}, w.settings, ledger.Options{
		Nonce: func() string { drawn++; return fmt.Sprintf("before-%d", drawn) },
	})
	if err != nil {
		panic(err) // the settings are this package's own
	}
	return l
}

// OneEffect is the small world of one effect, which is planned: workers with a message each,
// operators with a replay each, and crashes. The first attempt may be refused for good, so that the
// effect is DEAD and a replay reopens it. With a jump, a lease runs out at any time, and its holder
// goes on.
func OneEffect(workers, replays, crashes int, jumps ...time.Duration) Small {
	const resource = "batches/000000000000000000000000000000000001"
	return Small{
		Crashes: crashes, Jumps: jumps, Pivot: ledger.EffectPath(resource, publishRule),
		Setup: func(w *World, x *Walking) {
			name := operation.Name{Key: resource, Resource: resource}
			l, ctx := w.before(), context.Background()
			must(l.Operations.Register(ctx, ledger.Registration{Name: name}))
			must(l.Operations.Ingest(ctx, operation.Event{
				Name: name, DeliveryID: "msg", Source: operation.Webhook, State: operation.Succeeded, UpdateTime: time.Now(),
			}))
			work := func(group string, i int, m ledger.Message) {
				m.Operation, m.Effect = name.Key, publishRule
				x.Start(group, fmt.Sprintf("%s %d", group, i+1), func(ctx context.Context, a *actor, l *ledger.Ledger) error {
					perform := effect.HandlerFunc(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
						return nil, w.receiver.performOrRefuse(ctx, a, task)
					})
					_, err := effect.NewRunner(l, map[string]effect.Handler{publishRule: perform}).Run(ctx, m)
					return err
				})
			}
			for i := range workers {
				work("worker", i, ledger.Message{Attempt: 1})
			}
			for i := range replays {
				work("replay", i, ledger.Message{ID: fmt.Sprintf("replay %d", i+1), By: "operator"})
			}
		},
	}
}

// performOrRefuse sends one request, which is done. The first of an effect may be refused for good.
func (r *receiver) performOrRefuse(ctx context.Context, a *actor, task effect.Task) error {
	one := receipt{key: task.IdempotencyKey, payload: string(task.Payload), fence: task.Fence}
	send := &call{
		label:       func() string { return fmt.Sprintf("%s: perform %s, fence %d", a.name, short(one.key), one.fence) },
		unavailable: errNoAnswer,
		do:          func() error { r.receipts = append(r.receipts, one); return nil },
	}
	if task.Fence == 1 {
		send.fates = []fate{declined}
	}
	r.w.check.sent(a, task)
	send.handle = func(f fate) bool {
		if f == declined {
			r.w.gate.reply(send, effect.Permanent(errDeclined))
		}
		return f == declined
	}
	return a.send(ctx, send)
}

func must[T any](_ T, err error) {
	if err != nil {
		panic(err) // nothing disturbs what is there at the beginning
	}
}
