package effect_test

import (
	"context"
	"fmt"
	"io"
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
)

// numbered are the lines of n items with keys.
func numbered(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`{"key":"k-%d","response":%d}`, i, i)
	}
	return all
}

// A shuffled result comes in another order each time it is read: in a file, or in the batch.
type shuffled struct {
	lines []string
	reads atomic.Uint64
}

func (s *shuffled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	random := rand.New(rand.NewPCG(7, s.reads.Add(1)))
	var lines []string
	for _, i := range random.Perm(len(s.lines)) {
		lines = append(lines, s.lines[i])
	}
	if strings.Contains(r.URL.Path, "/files/") {
		_, _ = io.WriteString(w, strings.Join(lines, "\n"))
		return
	}
	for i := range lines {
		lines[i] = strings.Replace(lines[i], `"key":`, `"metadata":{"key":`, 1)
		lines[i] = strings.Replace(lines[i], `","response"`, `"},"response"`, 1)
	}
	_, _ = fmt.Fprintf(w, `{"metadata":{"output":{"inlinedResponses":{"inlinedResponses":[%s]}},`+
		`"batchStats":{"requestCount":"%d"}}}`, strings.Join(lines, ","), len(lines))
}

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
func (c *tally) each(t *testing.T, n, times int) {
	t.Helper()
	for i := range n {
		if key := fmt.Sprint("k-", i); c.times[key] != times {
			t.Errorf("K4: %s was performed %d times, want %d", key, c.times[key], times)
		}
	}
	if len(c.times) != n || len(c.differ) > 0 {
		t.Errorf("K4: %d items, want %d; other bytes for %v", len(c.times), n, c.differ)
	}
}

// TestAnotherOrder: a run that goes on with a result that comes in another order performs each of the
// other items once, and none that was done. The log says so [K4].
func TestAnotherOrder(t *testing.T) {
	t.Parallel()
	for _, inline := range []bool{true, false} {
		w := newItemsWorld(t, &shuffled{lines: numbered(250)})
		if w.result = (operation.Result{Inline: inline}); !inline {
			w.result.OutputFile = resultFile
		}
		w.end()
		c := newTally()
		ctx, cancel := context.WithCancel(t.Context())
		w.run(ctx, after(100, cancel), effect.Continued)
		done := w.progress().Done
		if done == 0 || done > 100 || w.progress().Keys == "" {
			t.Fatalf("K4: %+v", w.progress())
		}
		w.run(t.Context(), c.that(succeeds), effect.Finished)
		w.stands("DONE done 250 failed 0 of 250")
		for key, times := range c.times {
			if times != 1 {
				t.Errorf("K4: %s was performed %d times", key, times)
			}
		}
		if int64(len(c.times)) != 250-done {
			t.Errorf("K4: inline %v: %d of the other %d items were performed", inline, len(c.times), 250-done)
		}
		if logged := w.log.String(); !strings.Contains(logged, "told by their keys") {
			t.Errorf("K4: logged %s", logged)
		}
	}
}

// TestWaitingInAnotherOrder: the item that failed is the one that is tried again, wherever it stands
// then [K4].
func TestWaitingInAnotherOrder(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, &shuffled{lines: numbered(20)}).end()
	c := newTally()
	report := w.run(t.Context(), c.that(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Key == "k-5" {
			return nil, errTarget
		}
		return nil, nil
	}), effect.Failed)
	w.store.Advance(report.RetryAfter)
	w.run(t.Context(), c.that(succeeds), effect.Finished)
	w.stands("DONE done 20 failed 0 of 20")
	if c.times["k-5"]--; w.item("k-5").State != ledger.ItemDone {
		t.Errorf("K4: %+v", w.item("k-5"))
	}
	c.each(t, 20, 1)
}

// TestKilledInEveryOrder: any number of attempts, each of which meets another order, some failures and
// a kill, performs every item, and repeats at most what was in flight [K4].
func TestKilledInEveryOrder(t *testing.T) {
	t.Parallel()
	const n = 60
	w := newItemsWorld(t, &shuffled{lines: numbered(n)}).end()
	random := rand.New(rand.NewPCG(3, 4))
	for attempt := 0; ; attempt++ {
		if attempt == 60 {
			t.Fatalf("K4: it does not end: %+v", w.progress())
		}
		store := &killable{Store: w.store}
		left := atomic.Int64{}
		left.Store(random.Int64N(3 * n))
		report, err := w.runner(store, effect.HandlerFunc(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
			if w.item(task.Item.Key).State == ledger.ItemDone {
				t.Errorf("K4: %s is performed, and is DONE", task.Item.Key)
			}
			if left.Add(-1) < 0 {
				store.dead.Store(true)
			}
			if (task.Fence+task.Item.Index)%3 == 0 && task.Fence < 20 {
				return nil, errTarget
			}
			return nil, nil
		})).Run(t.Context(), w.message())
		w.store.Advance(2 * time.Hour)
		if err == nil && report.Outcome == effect.Finished {
			break
		}
	}
	w.stands(fmt.Sprintf("DONE done %d failed 0 of %[1]d", n))
	for i := range n {
		if key := fmt.Sprint("k-", i); w.item(key).State != ledger.ItemDone {
			t.Errorf("K4: %s is %s", key, w.item(key).State)
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
		"more":  {numbered(25), "DONE done 25 failed 0 of 25", "not the one that was read before"},
		"other": {numbered(25)[5:], "DONE done 25 failed 0 of 20", "gone=5"},
		"fewer": {numbered(20)[5:], "DONE done 20 failed 0 of 20", "gone=5"},
	} {
		result := &shuffled{lines: numbered(20)}
		w := newItemsWorld(t, result).end()
		tally := newTally()
		report := w.run(t.Context(), tally.that(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
			if task.Item.Key == "k-12" {
				return nil, errTarget
			}
			return nil, nil
		}), effect.Failed)
		w.store.Advance(report.RetryAfter)
		result.lines = c.second
		w.run(t.Context(), tally.that(succeeds), effect.Finished)
		w.stands(c.stands)
		tally.times["k-12"]--
		for key, times := range tally.times {
			if times != 1 {
				t.Errorf("K4: %s: %s was performed %d times", name, key, times)
			}
		}
		if logged := w.log.String(); !strings.Contains(logged, c.logged) {
			t.Errorf("K4: %s: logged %s", name, logged)
		}
	}
}

// TestExpiredItems: where the ledger no longer has what was done, and the result does not come in the
// order of before, nothing is performed again [K4, L3].
func TestExpiredItems(t *testing.T) {
	t.Parallel()
	result := &shuffled{lines: numbered(150)}
	w := newItemsWorld(t, result).end()
	ctx, cancel := context.WithCancel(t.Context())
	w.run(ctx, after(100, cancel), effect.Continued)
	page, err := w.over(w.store).Items(t.Context(), w.key, name, ledger.Cursor{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	path := ledger.ItemPath(w.key, name, page.Items[0].Key)
	snapshot, err := w.store.Get(t.Context(), path)
	if err == nil {
		_, err = w.store.Commit(t.Context(), ledger.Write{Path: path, Token: snapshot.Documents[0].Token})
	}
	if err != nil {
		t.Fatal(err)
	}
	c := newTally()
	report := w.run(t.Context(), c.that(succeeds), effect.Died)
	if len(c.times) > 0 || !strings.Contains(report.Cause.Error(), "have expired") {
		t.Errorf("K4: %d items were performed, %v", len(c.times), report.Cause)
	}
}

// TestEffectOfNumberOne: an effect that was begun under number 1 has no digest. What was done, and what
// waits, is told by its items [L6].
func TestEffectOfNumberOne(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, &shuffled{lines: numbered(30)}).end()
	c := newTally()
	report := w.run(t.Context(), c.that(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Index < 3 {
			return nil, errTarget
		}
		return nil, nil
	}), effect.Failed)
	w.store.Advance(report.RetryAfter)
	waited := 0
	for i := range 30 {
		path := ledger.ItemPath(w.key, name, fmt.Sprint("k-", i))
		w.rewrite(path, func(item *ledger.Item) {
			if !item.WaitingSince.IsZero() {
				waited++
			}
			item.WaitingSince = time.Time{}
		})
	}
	rewrite(w, ledger.EffectPath(w.key, name), func(e *ledger.Effect) { e.Schema, e.Progress.Keys = 1, "" })
	w.run(t.Context(), c.that(succeeds), effect.Finished)
	e := w.stands("DONE done 30 failed 0 of 30")
	performed := 0
	for _, times := range c.times {
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
	}{"the same order": {lines(numbered(900)...), 0}, "another": {&shuffled{lines: numbered(900)}, 800}} {
		w := newItemsWorld(t, c.result)
		w.result.Counts = &operation.Counts{Total: 900}
		w.end()
		ctx, cancel := context.WithCancel(t.Context())
		w.run(ctx, after(820, cancel), effect.Continued)
		counting := ledgertest.Count(w.store)
		report, err := w.runner(counting, effect.HandlerFunc(succeeds)).Run(t.Context(), w.message())
		if err != nil || report.Outcome != effect.Finished {
			t.Fatalf("%+v %v", report, err)
		}
		if got := counting.Counts(); got.Queries > 12 || got.Read-c.read > 130 || got.Read < c.read {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
