package items_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/itemworld"
)

// after stops a run once so many items were performed.
func after(n int64, stop func()) effect.HandlerFunc {
	var performed atomic.Int64
	return func(ctx context.Context, _ effect.Task) ([]ledger.Write, error) {
		if performed.Add(1) > n {
			stop()
			return nil, ctx.Err()
		}
		return nil, nil
	}
}

// each checks that each of n items was performed so many times, with the same bytes.
func each(c *itemworld.Tally, t *testing.T, n, times int) {
	t.Helper()
	for i := range n {
		if key := fmt.Sprint("k-", i); c.Times[key] != times {
			t.Errorf("K4: %s was performed %d times, want %d", key, c.Times[key], times)
		}
	}
	if len(c.Times) != n || len(c.Differ) > 0 {
		t.Errorf("K4: %d items, want %d; other bytes for %v", len(c.Times), n, c.Differ)
	}
}

// TestAnotherOrder: a run that goes on with a result that comes in another order performs each of the
// other items once, and none that was done. The log says so [K4].
func TestAnotherOrder(t *testing.T) {
	t.Parallel()
	for _, inline := range []bool{true, false} {
		w := itemworld.New(t, &itemworld.Shuffled{Lines: itemworld.Numbered(250)})
		if w.Result = (operation.Result{Inline: inline}); !inline {
			w.Result.OutputFile = itemworld.ResultFile
		}
		w.End()
		c := itemworld.NewTally()
		ctx, cancel := context.WithCancel(t.Context())
		w.Run(ctx, after(100, cancel), effect.Continued)
		done := w.Progress().Done
		if done == 0 || done > 100 || w.Progress().Keys == "" {
			t.Fatalf("K4: %+v", w.Progress())
		}
		w.Run(t.Context(), c.That(itemworld.Succeeds), effect.Finished)
		w.Stands("DONE done 250 failed 0 of 250")
		for key, times := range c.Times {
			if times != 1 {
				t.Errorf("K4: %s was performed %d times", key, times)
			}
		}
		if int64(len(c.Times)) != 250-done {
			t.Errorf("K4: inline %v: %d of the other %d items were performed", inline, len(c.Times), 250-done)
		}
		if logged := w.Logged.String(); !strings.Contains(logged, "recognised by their keys") {
			t.Errorf("K4: logged %s", logged)
		}
	}
}

// TestWaitingInAnotherOrder: the item that failed is the one that is tried again, wherever it stands
// then [K4].
func TestWaitingInAnotherOrder(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, &itemworld.Shuffled{Lines: itemworld.Numbered(20)}).End()
	c := itemworld.NewTally()
	report := w.Run(t.Context(), c.That(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Key == "k-5" {
			return nil, itemworld.ErrTarget
		}
		return nil, nil
	}), effect.Failed)
	w.Store.Advance(report.RetryAfter)
	w.Run(t.Context(), c.That(itemworld.Succeeds), effect.Finished)
	w.Stands("DONE done 20 failed 0 of 20")
	if c.Times["k-5"]--; w.Item("k-5").State != ledger.ItemDone {
		t.Errorf("K4: %+v", w.Item("k-5"))
	}
	each(c, t, 20, 1)
}

// TestKilledInEveryOrder: any number of attempts, each of which meets another order, some failures and
// a kill, performs every item, and repeats at most what was in flight [K4].
func TestKilledInEveryOrder(t *testing.T) {
	t.Parallel()
	const n = 60
	w := itemworld.New(t, &itemworld.Shuffled{Lines: itemworld.Numbered(n)}).End()
	random := rand.New(rand.NewPCG(3, 4))
	for attempt := 0; ; attempt++ {
		if attempt == 60 {
			t.Fatalf("K4: it does not end: %+v", w.Progress())
		}
		store := &itemworld.Killable{Store: w.Store}
		left := atomic.Int64{}
		left.Store(random.Int64N(3 * n))
		report, err := w.Runner(store, effect.HandlerFunc(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
			if w.Item(task.Item.Key).State == ledger.ItemDone {
				t.Errorf("K4: %s is performed, and is DONE", task.Item.Key)
			}
			if left.Add(-1) < 0 {
				store.Dead.Store(true)
			}
			if (task.Fence+task.Item.Index)%3 == 0 && task.Fence < 20 {
				return nil, itemworld.ErrTarget
			}
			return nil, nil
		})).Run(t.Context(), w.Message())
		w.Store.Advance(2 * time.Hour)
		if err == nil && report.Outcome == effect.Finished {
			break
		}
	}
	w.Stands(fmt.Sprintf("DONE done %d failed 0 of %[1]d", n))
	for i := range n {
		if key := fmt.Sprint("k-", i); w.Item(key).State != ledger.ItemDone {
			t.Errorf("K4: %s is %s", key, w.Item(key).State)
		}
	}
}

// TestOtherResults: a result that is not the one that was read before is performed to its end by key:
// what is more or new in it once, what it lacks not. The log says so [K4].
func TestOtherResults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		second []string
		stands string
		logged string
	}{
		"more":  {itemworld.Numbered(25), "DONE done 25 failed 0 of 25", "not the one that was read before"},
		"other": {itemworld.Numbered(25)[5:], "DONE done 25 failed 0 of 20", "gone=5"},
		"fewer": {itemworld.Numbered(20)[5:], "DONE done 20 failed 0 of 20", "gone=5"},
	} {
		result := &itemworld.Shuffled{Lines: itemworld.Numbered(20)}
		w := itemworld.New(t, result).End()
		tally := itemworld.NewTally()
		report := w.Run(t.Context(), tally.That(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
			if task.Item.Key == "k-12" {
				return nil, itemworld.ErrTarget
			}
			return nil, nil
		}), effect.Failed)
		w.Store.Advance(report.RetryAfter)
		result.Lines = c.second
		w.Run(t.Context(), tally.That(itemworld.Succeeds), effect.Finished)
		w.Stands(c.stands)
		tally.Times["k-12"]--
		for key, times := range tally.Times {
			if times != 1 {
				t.Errorf("K4: %s: %s was performed %d times", name, key, times)
			}
		}
		if logged := w.Logged.String(); !strings.Contains(logged, c.logged) {
			t.Errorf("K4: %s: logged %s", name, logged)
		}
	}
}

// TestExpiredItems: where the ledger no longer has what was done, and the result does not come in the
// order of before, nothing is performed again [K4, L3].
func TestExpiredItems(t *testing.T) {
	t.Parallel()
	result := &itemworld.Shuffled{Lines: itemworld.Numbered(150)}
	w := itemworld.New(t, result).End()
	ctx, cancel := context.WithCancel(t.Context())
	w.Run(ctx, after(100, cancel), effect.Continued)
	page, err := w.Over(w.Store).Items.List(t.Context(), w.Key, itemworld.Name, ledger.Cursor{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	path := ledger.ItemPath(w.Key, itemworld.Name, page.Items[0].Key)
	snapshot, err := w.Store.Get(t.Context(), path)
	if err == nil {
		_, err = w.Store.Commit(t.Context(), ledger.Write{Path: path, Token: snapshot.Documents[0].Token})
	}
	if err != nil {
		t.Fatal(err)
	}
	c := itemworld.NewTally()
	report := w.Run(t.Context(), c.That(itemworld.Succeeds), effect.Died)
	if len(c.Times) > 0 || !strings.Contains(report.Cause.Error(), "have expired") {
		t.Errorf("K4: %d items were performed, %v", len(c.Times), report.Cause)
	}
}

// TestEffectOfNumberOne: an effect that was begun under number 1 has no digest. What was done, and what
// waits, is told by its items [L6].
func TestEffectOfNumberOne(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, &itemworld.Shuffled{Lines: itemworld.Numbered(30)}).End()
	c := itemworld.NewTally()
	report := w.Run(t.Context(), c.That(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Index < 3 {
			return nil, itemworld.ErrTarget
		}
		return nil, nil
	}), effect.Failed)
	w.Store.Advance(report.RetryAfter)
	waited := 0
	for i := range 30 {
		path := ledger.ItemPath(w.Key, itemworld.Name, fmt.Sprint("k-", i))
		w.Rewrite(path, func(item *ledger.Item) {
			if !item.WaitingSince.IsZero() {
				waited++
			}
			item.WaitingSince = time.Time{}
		})
	}
	itemworld.Rewrite(w, ledger.EffectPath(w.Key, itemworld.Name), func(e *ledger.Effect) {
		e.Schema, e.Progress.Keys = 1, ""
	})
	w.Run(t.Context(), c.That(itemworld.Succeeds), effect.Finished)
	e := w.Stands("DONE done 30 failed 0 of 30")
	performed := 0
	for _, times := range c.Times {
		performed += times
	}
	if waited != 3 || performed != 33 || e.Schema != 2 || e.Progress.Keys == "" {
		t.Errorf("L6: %d waited, %d performed: %+v", waited, performed, e)
	}
}

// TestWhatResumingCosts: an attempt that meets the order of before reads no item's document; one that
// does not reads each once, in pages.
func TestWhatResumingCosts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		result http.Handler
		read   int
	}{
		"the same order": {itemworld.Lines(itemworld.Numbered(900)...), 0},
		"another":        {&itemworld.Shuffled{Lines: itemworld.Numbered(900)}, 800},
	} {
		w := itemworld.New(t, c.result)
		w.Result.Counts = &operation.Counts{Total: 900}
		w.End()
		ctx, cancel := context.WithCancel(t.Context())
		w.Run(ctx, after(820, cancel), effect.Continued)
		counting := ledgertest.Count(w.Store)
		report, err := w.Runner(counting, effect.HandlerFunc(itemworld.Succeeds)).Run(t.Context(), w.Message())
		if err != nil || report.Outcome != effect.Finished {
			t.Fatalf("%+v %v", report, err)
		}
		if got := counting.Counts(); got.Queries > 12 || got.Read-c.read > 130 || got.Read < c.read {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
