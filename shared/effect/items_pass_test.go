package effect_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/harness"
)

// refusesBelow is a receiver that fails for the items before an index.
func refusesBelow(index int64) effect.HandlerFunc {
	return func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Index < index {
			return nil, errTarget
		}
		return nil, nil
	}
}

// TestReceiverDown: if nothing succeeds, only some of the items are tried. When the receiver is
// back all are done [S4].
func TestReceiverDown(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, many(1000)).end()
	c := newTally()
	w.run(t.Context(), c.that(failsWith(errTarget)), effect.Failed)
	w.stands("PENDING done 0 failed 0 of 0")
	if len(c.times) != 150 { // a chunk, and five times ten
		t.Errorf("%d items were tried", len(c.times))
	}
	w.store.Advance(time.Hour)
	w.run(t.Context(), c.that(succeeds), effect.Finished)
	w.stands("DONE done 1000 failed 0 of 1000")
}

// TestReceiverDownForHours: no item is FAILED while the receiver is down for two hours, however
// often it is tried, and none while it is down for a day. After that the effect dies, and a replay
// continues with the same keys [S4, G5].
func TestReceiverDownForHours(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		down time.Duration
		dies bool
	}{{2 * time.Hour, false}, {23 * time.Hour, false}, {30 * time.Hour, true}} {
		t.Run(test.down.String(), func(t *testing.T) {
			t.Parallel()
			items := harness.Soak(t, 150, 400, 400)
			w := newItemsWorld(t, many(items)).end()
			c := newTally()
			died := false
			for down := time.Duration(0); down < test.down && !died; {
				report, err := w.runner(w.store, c.that(failsWith(errTarget))).Run(t.Context(), w.message())
				if err != nil {
					t.Fatal(err)
				}
				died = report.Outcome == effect.Died
				w.store.Advance(report.RetryAfter)
				down += report.RetryAfter
			}
			if died != test.dies {
				t.Fatalf("died: %v", died)
			}
			if died {
				m := ledger.Message{Operation: w.key, Effect: name, ID: "m1"}
				if _, err := w.over(w.store).Replay(t.Context(), m); err != nil {
					t.Fatal(err)
				}
			}
			w.run(t.Context(), c.that(succeeds), effect.Finished)
			w.stands(fmt.Sprintf("DONE done %d failed 0 of %d", items, items))
			if len(c.times) != items || len(c.differ) > 0 {
				t.Errorf("%d items were performed, with other bytes: %v", len(c.times), c.differ)
			}
		})
	}
}

// TestPoisonInFront: any number of failing items in front do not keep those behind from being
// tried. Their failures count once something in the run succeeds [S4].
func TestPoisonInFront(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, many(400)).end()
	w.run(t.Context(), refusesBelow(100), effect.Failed)
	e := w.stands("PENDING done 300 failed 0 of 400")
	if waiting := e.Progress.Waiting(); waiting != 100 {
		t.Errorf("%d wait", waiting)
	}
	for _, key := range []string{"review-0", "review-99"} {
		if item := w.item(key); item.Failures != 1 || item.Attempts != 1 {
			t.Errorf("%+v", item)
		}
	}
	// Alone their failures prove nothing about them.
	w.store.Advance(time.Minute)
	w.run(t.Context(), refusesBelow(100), effect.Failed)
	if item := w.item("review-0"); item.Failures != 1 || item.Attempts != 2 {
		t.Errorf("%+v", item)
	}
}

// TestPoisonAmongWaiting: where many items wait, those in front do not keep the others from being
// tried either.
func TestPoisonAmongWaiting(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, many(600)).end()
	next := func(one effect.HandlerFunc) *ledger.ItemProgress {
		report := w.run(t.Context(), one, effect.Failed)
		w.store.Advance(report.RetryAfter)
		return w.stands(fmt.Sprintf("PENDING done %d failed 0 of %d", w.progress().Done, w.progress().Total)).Progress
	}
	for !next(failsWith(errTarget)).Whole() {
	}
	for runs := 1; ; runs++ {
		if p := next(refusesBelow(500)); p.Done == 100 {
			break
		}
		if runs == 6 {
			t.Fatalf("after %d runs: %+v", runs, w.progress())
		}
	}
}

// TestBackOffOfItems: the attempts of an item are as far apart as those of an effect, also if
// others succeed in every run. A receiver that accepts one item at a time fails none of them for
// good within moments [S4].
func TestBackOffOfItems(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, many(50)).end()
	var took time.Duration
	for run := range 9 {
		var taken atomic.Bool
		report := w.run(t.Context(), func(context.Context, effect.Task) ([]ledger.Write, error) {
			if taken.CompareAndSwap(false, true) {
				return nil, nil
			}
			return nil, errTarget
		}, effect.Failed)
		w.stands(fmt.Sprintf("PENDING done %d failed 0 of 50", run+1))
		took += report.RetryAfter
		w.store.Advance(report.RetryAfter)
	}
	if took < time.Hour {
		t.Errorf("nine attempts were made within %v", took)
	}
}

// TestNewBeforeWaiting: a run tries what no run has tried, and then what failed before [S4].
func TestNewBeforeWaiting(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, many(300)).end()
	ctx, cancel := context.WithCancel(t.Context())
	w.run(ctx, func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		switch task.Item.Index {
		case 5:
			return nil, errTarget
		case 100:
			cancel()
			return nil, ctx.Err()
		}
		return nil, nil
	}, effect.Continued)
	w.stands("PENDING done 99 failed 0 of 0")
	var mu sync.Mutex
	var order []int64
	w.run(t.Context(), func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, task.Item.Index)
		return nil, nil
	}, effect.Finished)
	if len(order) != 201 || order[200] != 5 {
		t.Errorf("%d items, the last %d", len(order), order[len(order)-1])
	}
}

// TestManyWait: any number of items may wait, here and there in the result, and each is tried once in a
// run.
func TestManyWait(t *testing.T) {
	t.Parallel()
	const items = 3000
	w := newItemsWorld(t, many(items, 5)).end()
	c := newTally()
	one := c.that(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Index%2 == 1 && task.Fence == 1 {
			return nil, errTarget
		}
		return nil, nil
	})
	w.run(t.Context(), one, effect.Failed)
	if p := w.progress(); p.Waiting() != items/2 || p.Next != items {
		t.Errorf("%d items wait, of %d", p.Waiting(), p.Next)
	}
	w.store.Advance(time.Hour)
	w.run(t.Context(), one, effect.Finished)
	w.stands(fmt.Sprintf("DONE done %d failed 0 of %[1]d", items))
	for key, times := range c.times {
		n, err := strconv.Atoi(strings.TrimPrefix(key, "review-"))
		if err != nil || times != 1+n%2 {
			t.Errorf("%s was performed %d times", key, times)
		}
	}
}

// TestHeldBack: failures while nothing had succeeded are recorded when the run ends, whatever ends
// it.
func TestHeldBack(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, many(120)).end()
	ctx, cancel := context.WithCancel(t.Context())
	report := w.run(ctx, func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Index == 105 {
			cancel()
		}
		return nil, errTarget
	}, effect.Failed) // not handed on, because it finished nothing
	if !strings.Contains(report.Cause.Error(), errTarget.Error()) {
		t.Errorf("%v", report.Cause)
	}
	if p := w.progress(); p.Next < 100 || p.Waiting() != p.Next {
		t.Errorf("%+v", p)
	}
	if item := w.item("review-0"); item.Attempts != 1 || item.Failures != 0 {
		t.Errorf("%+v", item)
	}
}

// TestBrokenDownload: a download that breaks off is resumed within the attempt, as long as it
// brings something.
func TestBrokenDownload(t *testing.T) {
	t.Parallel()
	var downloads atomic.Int64
	w := newItemsWorld(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := int(downloads.Add(1))
		for i := range 1000 {
			if i == 300*n {
				panic(http.ErrAbortHandler)
			}
			_, _ = fmt.Fprintf(w, "{\"key\":\"review-%d\",\"response\":%d}\n", i, i)
		}
	})).end()
	c := newTally()
	report := w.run(t.Context(), c.that(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Index == 5 {
			return nil, errTarget
		}
		return nil, nil
	}), effect.Failed)
	w.stands("PENDING done 999 failed 0 of 1000")
	for item, times := range c.times {
		if times != 1 {
			t.Errorf("%s: %d times", item, times)
		}
	}
	w.store.Advance(report.RetryAfter + time.Second)
	w.run(t.Context(), c.that(succeeds), effect.Finished)
	w.stands("DONE done 1000 failed 0 of 1000")
	if downloads.Load() < 2 {
		t.Error("it did not break off")
	}
}
