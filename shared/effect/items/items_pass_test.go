package items_test

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
	"github.com/opledger/opledger/test/itemworld"
)

// refusesBelow is a receiver that fails for the items before an index.
func refusesBelow(index int64) effect.HandlerFunc {
	return func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Index < index {
			return nil, itemworld.ErrTarget
		}
		return nil, nil
	}
}

// TestReceiverDown: if nothing itemworld.Succeeds, only some of the items are tried. When the receiver is
// back all are done [S4].
func TestReceiverDown(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(1000)).End()
	c := itemworld.NewTally()
	w.Run(t.Context(), c.That(itemworld.FailsWith(itemworld.ErrTarget)), effect.Failed)
	w.Stands("PENDING done 0 failed 0 of 0")
	if len(c.Times) != 150 { // a chunk, and five times ten
		t.Errorf("%d items were tried", len(c.Times))
	}
	w.Store.Advance(time.Hour)
	w.Run(t.Context(), c.That(itemworld.Succeeds), effect.Finished)
	w.Stands("DONE done 1000 failed 0 of 1000")
}

// TestReceiverDownForHours: no item is FAILED while the receiver is down for two hours, however
// often it is tried, and none while it is down for a day. After that the effect dies, and a replay
// continues with the same keys [S4, G5]. In the short setting no outage ends just before the day does.
func TestReceiverDownForHours(t *testing.T) {
	t.Parallel()
	type outage struct {
		down time.Duration
		dies bool
	}
	short, long, longer := outage{2 * time.Hour, false}, outage{23 * time.Hour, false}, outage{30 * time.Hour, true}
	all := []outage{short, long, longer}
	for _, test := range harness.Soak(t, []outage{short, longer}, all, all) {
		t.Run(test.down.String(), func(t *testing.T) {
			t.Parallel()
			items := harness.Soak(t, 110, 400, 400) // more than one chunk
			w := itemworld.New(t, itemworld.Many(items)).End()
			c := itemworld.NewTally()
			died := false
			for down := time.Duration(0); down < test.down && !died; {
				tried := down
				report, err := w.Runner(w.Store, c.That(itemworld.FailsWith(itemworld.ErrTarget))).Run(t.Context(), w.Message())
				if err != nil {
					t.Fatal(err)
				}
				if died = report.Outcome == effect.Died; died && tried < 24*time.Hour {
					t.Fatalf("it died of an outage of %v", tried)
				}
				w.Store.Advance(report.RetryAfter)
				down += report.RetryAfter
			}
			if died != test.dies {
				t.Fatalf("died: %v", died)
			}
			if died {
				m := ledger.Message{Operation: w.Key, Effect: itemworld.Name, ID: "m1"}
				if _, err := w.Over(w.Store).Effects.Replay(t.Context(), m); err != nil {
					t.Fatal(err)
				}
			}
			w.Run(t.Context(), c.That(itemworld.Succeeds), effect.Finished)
			w.Stands(fmt.Sprintf("DONE done %d failed 0 of %d", items, items))
			if len(c.Times) != items || len(c.Differ) > 0 {
				t.Errorf("%d items were performed, with other bytes: %v", len(c.Times), c.Differ)
			}
		})
	}
}

// TestPoisonInFront: any number of failing items in front do not keep those behind from being
// tried. Their failures count once something in the run succeeds [S4].
func TestPoisonInFront(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(400)).End()
	w.Run(t.Context(), refusesBelow(100), effect.Failed)
	e := w.Stands("PENDING done 300 failed 0 of 400")
	if waiting := e.Progress.Waiting(); waiting != 100 {
		t.Errorf("%d wait", waiting)
	}
	for _, key := range []string{"review-0", "review-99"} {
		if item := w.Item(key); item.Failures != 1 || item.Attempts != 1 {
			t.Errorf("%+v", item)
		}
	}
	// Alone their failures prove nothing about them.
	w.Store.Advance(time.Minute)
	w.Run(t.Context(), refusesBelow(100), effect.Failed)
	if item := w.Item("review-0"); item.Failures != 1 || item.Attempts != 2 {
		t.Errorf("%+v", item)
	}
}

// TestPoisonAmongWaiting: where many items wait, those in front do not keep the others from being
// tried either.
func TestPoisonAmongWaiting(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(600)).End()
	next := func(one effect.HandlerFunc) *ledger.ItemProgress {
		report := w.Run(t.Context(), one, effect.Failed)
		w.Store.Advance(report.RetryAfter)
		return w.Stands(fmt.Sprintf("PENDING done %d failed 0 of %d", w.Progress().Done, w.Progress().Total)).Progress
	}
	for !next(itemworld.FailsWith(itemworld.ErrTarget)).Whole() {
	}
	for runs := 1; ; runs++ {
		if p := next(refusesBelow(500)); p.Done == 100 {
			break
		}
		if runs == 6 {
			t.Fatalf("after %d runs: %+v", runs, w.Progress())
		}
	}
}

// TestBackOffOfItems: the attempts of an item are as far apart as those of an effect, also if
// others succeed in every run. A receiver that accepts one item at a time fails none of them for
// good within moments [S4].
func TestBackOffOfItems(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(50)).End()
	var took time.Duration
	for run := range 9 {
		var taken atomic.Bool
		report := w.Run(t.Context(), func(context.Context, effect.Task) ([]ledger.Write, error) {
			if taken.CompareAndSwap(false, true) {
				return nil, nil
			}
			return nil, itemworld.ErrTarget
		}, effect.Failed)
		w.Stands(fmt.Sprintf("PENDING done %d failed 0 of 50", run+1))
		took += report.RetryAfter
		w.Store.Advance(report.RetryAfter)
	}
	if took < time.Hour {
		t.Errorf("nine attempts were made within %v", took)
	}
}

// TestNewBeforeWaiting: a run tries what no run has tried, and then what failed before [S4].
func TestNewBeforeWaiting(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(300)).End()
	ctx, cancel := context.WithCancel(t.Context())
	w.Run(ctx, func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		switch task.Item.Index {
		case 5:
			return nil, itemworld.ErrTarget
		case 100:
			cancel()
			return nil, ctx.Err()
		}
		return nil, nil
	}, effect.Continued)
	w.Stands("PENDING done 99 failed 0 of 0")
	var mu sync.Mutex
	var order []int64
	w.Run(t.Context(), func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
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
// run. Outside of the gate there are a thousand, of which half wait on several pages.
func TestManyWait(t *testing.T) {
	t.Parallel()
	items := 3000
	if !harness.Thorough(t) {
		items = 1000
	}
	w := itemworld.New(t, itemworld.Many(items, 5)).End()
	c := itemworld.NewTally()
	one := c.That(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Index%2 == 1 && task.Fence == 1 {
			return nil, itemworld.ErrTarget
		}
		return nil, nil
	})
	w.Run(t.Context(), one, effect.Failed)
	if p := w.Progress(); p.Waiting() != int64(items/2) || p.Next != int64(items) {
		t.Errorf("%d items wait, of %d", p.Waiting(), p.Next)
	}
	w.Store.Advance(time.Hour)
	w.Run(t.Context(), one, effect.Finished)
	w.Stands(fmt.Sprintf("DONE done %d failed 0 of %[1]d", items))
	for key, times := range c.Times {
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
	w := itemworld.New(t, itemworld.Many(120)).End()
	ctx, cancel := context.WithCancel(t.Context())
	report := w.Run(ctx, func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Index == 105 {
			cancel()
		}
		return nil, itemworld.ErrTarget
	}, effect.Failed) // not handed on, because it finished nothing
	if !strings.Contains(report.Cause.Error(), itemworld.ErrTarget.Error()) {
		t.Errorf("%v", report.Cause)
	}
	if p := w.Progress(); p.Next < 100 || p.Waiting() != p.Next {
		t.Errorf("%+v", p)
	}
	if item := w.Item("review-0"); item.Attempts != 1 || item.Failures != 0 {
		t.Errorf("%+v", item)
	}
}

// TestBrokenDownload: a download that breaks off is resumed within the attempt, as long as it
// brings something.
func TestBrokenDownload(t *testing.T) {
	t.Parallel()
	var downloads atomic.Int64
	w := itemworld.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := int(downloads.Add(1))
		for i := range 1000 {
			if i == 300*n {
				panic(http.ErrAbortHandler)
			}
			_, _ = fmt.Fprintf(w, "{\"key\":\"review-%d\",\"response\":%d}\n", i, i)
		}
	})).End()
	c := itemworld.NewTally()
	report := w.Run(t.Context(), c.That(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Index == 5 {
			return nil, itemworld.ErrTarget
		}
		return nil, nil
	}), effect.Failed)
	w.Stands("PENDING done 999 failed 0 of 1000")
	for item, times := range c.Times {
		if times != 1 {
			t.Errorf("%s: %d times", item, times)
		}
	}
	w.Store.Advance(report.RetryAfter + time.Second)
	w.Run(t.Context(), c.That(itemworld.Succeeds), effect.Finished)
	w.Stands("DONE done 1000 failed 0 of 1000")
	if downloads.Load() < 2 {
		t.Error("it did not break off")
	}
}
