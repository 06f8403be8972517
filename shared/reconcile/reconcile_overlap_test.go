package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/test/harness"
)

// TestTwoPassesAtOnce: two passes over many due operations make no more look-ups than one,
// and each look-up counts one attempt [R3, R6].
func TestTwoPassesAtOnce(t *testing.T) {
	t.Parallel()
	const passes = 2
	due := harness.Soak(t, 300, 1000, 1000)
	for name, submit := range map[string]func(*world) operation.Name{
		"R6: interactions": func(w *world) operation.Name { return w.interaction("a", geminisim.InteractionInProgress) },
		"R6: batches":      func(w *world) operation.Name { return w.submit("a", geminisim.StateRunning) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, setting{}, func(t *testing.T, w *world) {
				fleet := w.fleet(submit(w), due)
				w.clock.Advance(grace)
				var group sync.WaitGroup
				var checked, running atomic.Int64
				for range passes {
					group.Go(func() {
						got, err := w.reconciler(w.ledger).Pass(t.Context())
						if err != nil || got.Errors != 0 || got.More {
							t.Errorf("R6: %+v %v", got, err)
						}
						checked.Add(int64(got.Checked))
						running.Add(int64(got.Running))
					})
				}
				group.Wait()
				if int(checked.Load()) != due || int(running.Load()) != due {
					t.Errorf("R6: together %d were asked about and %d run, want %d", checked.Load(), running.Load(), due)
				}
				gets, lists := int(fleet.gets.Load()), int(fleet.lists.Load())
				if gets != due && lists > passes*due/100 || gets+lists > due {
					t.Errorf("R6: %d gets and %d lists for %d operations", gets, lists, due)
				}
				for resource, n := range w.lookups() {
					if n != 1 {
						t.Errorf("R6: %s was asked about %d times", resource, n)
					}
				}
				for filter := (ledger.Filter{Limit: 100}); ; {
					page, err := w.ledger.Operations.List(t.Context(), filter)
					if err != nil {
						t.Fatal(err)
					}
					for _, rec := range page.Items {
						if rec.LookUps != 1 {
							t.Fatalf("R3: %d attempts of %s", rec.LookUps, rec.Key)
						}
					}
					if filter.After = page.Next; page.Next.Path == "" {
						break
					}
				}
			})
		})
	}
}

// A dying store accepts only so many commits, as if the process died then.
type dying struct {
	ledger.Store
	left atomic.Int64
}

var errDead = errors.New("the process is dead")

func (d *dying) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	if d.left.Add(-1) < 0 {
		return nil, errDead
	}
	return d.Store.Commit(ctx, writes...)
}

// TestKilled: wherever a pass dies, the next ones settle everything, and plan each effect once
// [R6].
func TestKilled(t *testing.T) {
	t.Parallel()
	const due = 6
	for commits := range int64(2*due + 4) {
		t.Run(fmt.Sprint(commits, " commits"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			names := w.many(due)
			w.endAll(names, geminisim.InteractionCompleted)
			w.intend("c-1", ledger.Intention{})
			names = append(names, w.submit("opledger:c-1", geminisim.StateSucceeded))
			w.clock.Advance(grace)
			store := &dying{Store: w.store}
			store.left.Store(commits)
			if _, err := w.reconciler(w.over(store)).Pass(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.clock.Advance(interval)
			if got := w.passWith(reconcile.Options{}); got.More || got.Errors != 0 {
				t.Errorf("R6: %+v", got)
			}
			for _, name := range names {
				story, err := w.ledger.Operations.Show(t.Context(), name.Key)
				if err != nil || story.Record.State != operation.Succeeded || len(story.Effects) != 1 {
					t.Errorf("R6: %+v %v", story, err)
				}
			}
		})
	}
}

// TestOverlap: concurrent passes that found the same due operations make no more look-ups than one,
// and publish each effect once [R6].
func TestOverlap(t *testing.T) {
	t.Parallel()
	inBubble(t, setting{}, func(t *testing.T, w *world) {
		names := w.many(40)
		w.outbox.Fail(errors.New("the queue is down"))
		for _, name := range names[:10] {
			w.deliver(name, "m-"+name.Key.ID(), operation.Succeeded)
		}
		w.outbox.Fail(nil)
		w.clock.Advance(grace)
		const passes = 3
		var sweeps, lookups sync.WaitGroup
		sweeps.Add(passes)
		lookups.Add(passes)
		var group sync.WaitGroup
		var mu sync.Mutex
		var sum reconcile.Summary
		for range passes {
			l := w.over(both{w.store, &sweeps, &lookups})
			group.Go(func() {
				got, err := w.reconciler(l).Pass(t.Context())
				if err != nil || got.Errors != 0 || got.More {
					t.Errorf("%+v %v", got, err)
				}
				mu.Lock()
				defer mu.Unlock()
				sum.Checked += got.Checked
				sum.EffectsRequeued += got.EffectsRequeued
			})
		}
		group.Wait()
		if sum.Checked != 30 || sum.EffectsRequeued != 10 || len(w.outbox.Drain()) != 10 {
			t.Errorf("together %+v, want 30 looked up and 10 handed over", sum)
		}
		for i, name := range names {
			want := 1
			if i < 10 {
				want = 0
			}
			if n := w.lookups()[string(name.Key)]; n != want {
				t.Errorf("%s was looked up %d times", name.Key, n)
			}
			if rec := w.record(name); rec.LookUps != want {
				t.Errorf("%s counts %d attempts", name.Key, rec.LookUps)
			}
		}
	})
}

// both is a store at which the sweeps of two passes meet, and then their look-ups.
type both struct {
	ledger.Store
	sweeps, lookups *sync.WaitGroup
}

func (b both) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	where := b.sweeps
	switch q.Collection {
	case ledger.OperationsCollection:
		where = b.lookups
	case ledger.IntentsCollection:
		return b.Store.Query(ctx, q)
	}
	page, err := b.Store.Query(ctx, q)
	where.Done()
	where.Wait()
	return page, err
}
