package ledgertest

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// crowded writes n effects that no worker can run now, each of its own operation.
func (w *world) crowded(kind string, n int, as ledger.Effect) {
	w.Helper()
	var writes []ledger.Write
	for i := range n {
		effect := as
		effect.Operation = operation.Key(fmt.Sprintf("batches/%s-%03d", kind, i))
		effect.IdempotencyKey = operation.IdempotencyKey(effect.Operation, effect.Name)
		effect.Schema, effect.Version, effect.CreatedAt = operation.SchemaVersion, 1, w.start
		writes = append(writes, ledger.Write{Path: ledger.EffectPath(effect.Operation, effect.Name), Data: effect})
	}
	for batch := range slices.Chunk(writes, 150) {
		if _, err := w.store.Commit(w.ctx, batch...); err != nil {
			w.Fatal(err)
		}
	}
}

// sweepAll is a whole pass of the sweep, in pages, with some at once. It returns how many effects
// it read, and which operations' effects called publish it handed over.
func (w *world) sweepAll() (read int, handed []operation.Key) {
	w.Helper()
	start, l := w.now(), w.ledger()
	w.outbox.sent()
	for after, more := (ledger.Cursor{}), true; more; more = after.Path != "" {
		page, err := l.Effects.Due(w.ctx, start, after, 20)
		if err != nil || len(page.Broken) > 0 {
			w.Fatalf("Effects.Due: %v, %v", page.Broken, err)
		}
		var group errgroup.Group
		group.SetLimit(8)
		for _, due := range page.Items {
			group.Go(func() error { return l.Effects.Requeue(w.ctx, due, start) })
		}
		if err := group.Wait(); err != nil {
			w.Fatalf("Requeue: %v", err)
		}
		read += len(page.Items)
		after = page.Next
	}
	for _, m := range w.outbox.sent() {
		if m.Effect == publish {
			handed = append(handed, m.Operation)
		}
	}
	return read, handed
}

var effectRequeueStarvation = []ledgerTest{
	{"500 effects that cannot run delay no other in a pass [R5, R6, L4]", func(w *world) {
		const unknown, held, backingOff, dead = 50, 150, 150, 150
		soon, later := w.start.Add(w.settings.ClaimTTL), w.start.Add(6*w.settings.ClaimTTL)
		// First in due order, and due in each pass: no running revision has a
		// handler for them.
		ago := w.start.Add(-time.Hour)
		w.crowded(
			"unknown", unknown, ledger.Effect{Name: "stranger", State: ledger.EffectPending, ClaimableAt: ago, DueAt: ago},
		)
		w.crowded("held", held, ledger.Effect{
			Name: publish, State: ledger.EffectClaimed, Owner: "worker", Fence: 1, Attempts: 1, ClaimableAt: soon, DueAt: soon,
		})
		w.crowded("backing-off", backingOff, ledger.Effect{
			Name: publish, State: ledger.EffectPending, Fence: 9, Attempts: 9, LastError: "no", ClaimableAt: later, DueAt: later,
		})
		w.crowded(
			"dead", dead, ledger.Effect{Name: publish, State: ledger.EffectDead, Fence: 10, Attempts: 10, LastError: "no"},
		)
		w.succeed()
		want := fmt.Sprint([]operation.Key{w.name.Key})
		for pass := range 2 {
			read, handed := w.sweepAll()
			equal(w, fmt.Sprintf("handed over in pass %d", pass), fmt.Sprint(handed), want)
			equal(w, "effects read", read, unknown+1)
			read, _ = w.sweepAll()
			equal(w, "effects read at once again", read, 0)
			w.store.Advance(w.settings.Interval)
		}
		w.finish(w.granted(publish))
		w.store.Advance(w.settings.ClaimTTL)
		due, err := w.ledger().Effects.Due(w.ctx, w.now(), ledger.Cursor{}, 1000)
		if err != nil {
			w.Fatal(err)
		}
		equal(w, "due once every lease has run out", len(due.Items), unknown+held)
	}},
}
