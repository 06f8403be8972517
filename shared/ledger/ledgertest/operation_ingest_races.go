package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// ingesting is a move that ingests e and keeps its receipt in r.
func (w *world) ingesting(e operation.Event, r *ledger.Receipt) move {
	return func(l *ledger.Ledger) (err error) {
		*r, err = l.Operations.Ingest(w.ctx, e)
		return err
	}
}

// registering is a move that registers the world's operation and keeps the answer in r.
func (w *world) registering(r *ledger.Registered) move {
	return func(l *ledger.Ledger) (err error) {
		*r, err = l.Operations.Register(w.ctx, w.registration())
		return err
	}
}

// plannedOnce checks that the operation succeeded and that its effect exists, open, and was
// published exactly once.
func (w *world) plannedOnce() {
	w.Helper()
	rec := w.record()
	if !rec.Registered || rec.State != operation.Succeeded || rec.Effects[publish] != operation.EffectOpen {
		w.Errorf("the record: %+v", rec)
	}
	effect := w.effect(publish)
	if effect.State != ledger.EffectPending || effect.Fence != 0 {
		w.Errorf("the effect: %+v", effect)
	}
	w.published(publish)
}

var operationIngestRaces = join(
	[]ledgerTest{{"a drop waits for no other's commit", func(w *world) {
		w.register()
		w.ingest(w.event("d1", operation.Succeeded, time.Second))
		pause := PauseBeforeCommit(w.store)
		l := w.over(pause) // one process
		slow := make(chan error, 1)
		go func() {
			_, err := l.Operations.Ingest(w.ctx, w.event("d2", operation.Running, 0))
			slow <- err
		}()
		<-pause.Reached()
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		_, err := l.Operations.Ingest(ctx, w.event("d3", operation.Running, 0))
		pause.Resume()
		if err = errors.Join(err, <-slow); err != nil {
			w.Fatal(err)
		}
		equal(w, "deliveries", len(w.show().Deliveries), 3)
	}}, {"the wait for another event of the process ends with the caller's time", func(w *world) {
		pause := PauseBeforeCommit(w.store)
		l := w.over(pause)
		slow := make(chan error, 1)
		go func() {
			_, err := l.Operations.Ingest(w.ctx, w.event("d1", operation.Running, 0))
			slow <- err
		}()
		<-pause.Reached()
		ctx, cancel := context.WithCancel(w.ctx)
		cancel()
		_, err := l.Operations.Ingest(ctx, w.event("d2", operation.Running, 0))
		pause.Resume()
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "waiting to ingest") {
			w.Errorf("Ingest: %v, want that it waited", err)
		}
		if err := <-slow; err != nil {
			w.Error(err)
		}
		equal(w, "deliveries", len(w.show().Deliveries), 1)
	}}},
	both("two first sightings [M6]", func(w *world) (a, b move, check func()) {
		var one, two ledger.Receipt
		return w.ingesting(w.event("d1", operation.Running, time.Second), &one),
			w.ingesting(w.event("d2", operation.Succeeded, 2*time.Second), &two), func() {
				equal(w, "state", w.record().State, operation.Succeeded)
				equal(w, "the end", two.Outcome, ledger.Applied)
				equal(w, "deliveries", len(w.show().Deliveries), 2)
				w.published()
			}
	}),
	both("two first sightings of different ends [M5]", func(w *world) (a, b move, check func()) {
		var one, two ledger.Receipt
		return w.ingesting(w.event("d1", operation.Failed, time.Second), &one),
			w.ingesting(w.event("d2", operation.Succeeded, time.Second), &two), func() {
				n := outcomes([]ledger.Receipt{one, two})
				if n[ledger.Applied] != 1 || n[ledger.Conflict] != 1 {
					w.Errorf("outcomes: %v", n)
				}
				winner := one
				if two.Outcome == ledger.Applied {
					winner = two
				}
				equal(w, "state", w.record().State, winner.State)
			}
	}),
	both("webhook against reconcile [M7, R2]", func(w *world) (a, b move, check func()) {
		w.register()
		var hook, look ledger.Receipt
		return w.ingesting(w.event("d1", operation.Succeeded, time.Second), &hook),
			w.ingesting(w.lookup(operation.Succeeded, time.Second), &look), func() {
				n := outcomes([]ledger.Receipt{hook, look})
				if n[ledger.Applied] != 1 || n[ledger.Dropped] != 1 || hook.Planned+look.Planned != 1 {
					w.Errorf("webhook %+v, reconcile %+v", hook, look)
				}
				by := operation.Webhook
				if look.Settled {
					by = operation.Reconcile
				}
				equal(w, "settled by", w.record().SettledBy, by)
				w.plannedOnce()
			}
	}),
	both("a stale answer against a newer webhook [R2]", func(w *world) (a, b move, check func()) {
		w.register()
		var hook, look ledger.Receipt
		return w.ingesting(w.event("d1", operation.Succeeded, 2*time.Second), &hook),
			w.ingesting(w.lookup(operation.Running, time.Second), &look), func() {
				equal(w, "webhook", hook.Outcome, ledger.Applied)
				w.plannedOnce()
			}
	}),
	both("register against first sighting [W5]", func(w *world) (a, b move, check func()) {
		var hook ledger.Receipt
		var registered ledger.Registered
		return w.registering(&registered), w.ingesting(w.event("d1", operation.Succeeded, time.Second), &hook), func() {
			equal(w, "planned", hook.Planned+registered.Planned, 1)
			equal(w, "created by register", registered.Created, hook.Planned == 1)
			w.plannedOnce()
		}
	}),
	both("two planners, register and ingest [S3]", func(w *world) (a, b move, check func()) {
		w.ingest(w.event("d0", operation.Running, 0))
		var hook ledger.Receipt
		var registered ledger.Registered
		return w.registering(&registered), w.ingesting(w.event("d1", operation.Succeeded, time.Second), &hook), func() {
			equal(w, "planned", hook.Planned+registered.Planned, 1)
			w.plannedOnce()
		}
	}),
	both("two planners, register twice [S3]", func(w *world) (a, b move, check func()) {
		w.ingest(w.event("d0", operation.Succeeded, time.Second))
		var one, two ledger.Registered
		return w.registering(&one), w.registering(&two), func() {
			equal(w, "planned", one.Planned+two.Planned, 1)
			w.plannedOnce()
		}
	}),
	both("two planners of different effects, finish against transition", func(w *world) (a, b move, check func()) {
		var err error
		if w.settings.Transitions, err = operation.ParseTransitions("SUCCEEDED:FAILED"); err != nil {
			w.Fatal(err)
		}
		w.succeed()
		lease := w.granted(publish)
		w.published(publish)
		var hook ledger.Receipt
		return w.ingesting(w.event("d1", operation.Failed, time.Hour), &hook),
			func(l *ledger.Ledger) error { return l.Effects.Finish(w.ctx, lease) }, func() {
				rec := w.record()
				equal(w, "the finished effect", rec.Effects[publish], operation.EffectDone)
				equal(w, "the new effect", rec.Effects[alarm], operation.EffectOpen)
				equal(w, "expires", rec.ExpireAt.IsZero(), true)
				w.published(alarm)
			}
	}),
	both("the same delivery twice in parallel [W4]", func(w *world) (a, b move, check func()) {
		w.register()
		var one, two ledger.Receipt
		e := w.event("d1", operation.Succeeded, time.Second)
		return w.ingesting(e, &one), w.ingesting(e, &two), func() {
			n := outcomes([]ledger.Receipt{one, two})
			if n[ledger.Applied] != 1 || n[ledger.Duplicate] != 1 {
				w.Errorf("outcomes: %v", n)
			}
			w.plannedOnce()
		}
	}),
	both("the same late delivery twice in parallel [W4, M8]", func(w *world) (a, b move, check func()) {
		w.succeed()
		var one, two ledger.Receipt
		e := w.event("late", operation.Running, time.Hour)
		return w.ingesting(e, &one), w.ingesting(e, &two), func() {
			n := outcomes([]ledger.Receipt{one, two})
			if n[ledger.Dropped] != 1 || n[ledger.Duplicate] != 1 {
				w.Errorf("outcomes: %v", n)
			}
			w.plannedOnce()
		}
	}),
	[]ledgerTest{
		{"50 identical deliveries at once [W4, S3]", func(w *world) {
			w.register()
			w.jitter = nil
			e := w.event("d1", operation.Succeeded, time.Second)
			n := outcomes(crowd(w, 50,
				func(l *ledger.Ledger, _ int) (ledger.Receipt, error) { return l.Operations.Ingest(w.ctx, e) }))
			if n[ledger.Applied] != 1 || n[ledger.Duplicate] != 49 {
				w.Errorf("outcomes: %v", n)
			}
			w.plannedOnce()
		}},
		{"50 different stale deliveries at once [M8]", func(w *world) {
			w.succeed()
			w.jitter = nil
			n := outcomes(crowd(w, 50, func(l *ledger.Ledger, i int) (ledger.Receipt, error) {
				return l.Operations.Ingest(w.ctx, w.event(fmt.Sprint("stale-", i), operation.Running, time.Second))
			}))
			equal(w, "dropped", n[ledger.Dropped], 50)
			equal(w, "deliveries", len(w.show().Deliveries), 51)
			w.plannedOnce()
		}},
		{"a caller that is cut off between read and commit [M6]", func(w *world) {
			w.register()
			ctx, cancel := context.WithCancel(w.ctx)
			e := w.event("d1", operation.Succeeded, time.Second)
			slowErr, fastErr := w.race(
				func(l *ledger.Ledger) error { _, err := l.Operations.Ingest(ctx, e); return err },
				func(*ledger.Ledger) error { cancel(); return nil })
			if !errors.Is(slowErr, context.Canceled) || fastErr != nil {
				w.Errorf("Ingest: %v, want the context's end", slowErr)
			}
			equal(w, "the redelivery", w.ingest(e).Outcome, ledger.Applied)
			w.plannedOnce()
		}},
	},
)

func join(groups ...[]ledgerTest) []ledgerTest {
	var all []ledgerTest
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}
