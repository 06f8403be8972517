package effect_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// simulated is a world with a batch of n items at the simulator, by file or inline, some of which
// failed.
func simulated(t *testing.T, n int, inline bool) *itemsWorld {
	sim := geminisim.New(geminisim.Config{Seed: 7, Faults: geminisim.Faults{FailedItems: 0.01, Shuffled: 0.5}})
	t.Cleanup(sim.Close)
	w := newItemsWorld(t, sim.Handler())
	server := httptest.NewServer(sim.Handler())
	defer server.Close()
	sim.Script("nightly", geminisim.Script{Hold: geminisim.StateRunning, Items: n})
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: "any", Backend: genai.BackendGeminiAPI, HTTPClient: server.Client(),
		HTTPOptions: genai.HTTPOptions{BaseURL: server.URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	source := &genai.BatchJobSource{FileName: "files/input"}
	if inline {
		source = &genai.BatchJobSource{}
		for i := range n {
			source.InlinedRequests = append(source.InlinedRequests, &genai.InlinedRequest{
				Contents: genai.Text("?"), Metadata: map[string]string{"key": fmt.Sprintf("request-%d", i+1)},
			})
		}
	}
	job, err := client.Batches.Create(t.Context(), "m", source, &genai.CreateBatchJobConfig{DisplayName: "nightly"})
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.SetState(job.Name, geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
	w.key, w.result = operation.Key(job.Name), operation.Result{Inline: inline}
	return w.end()
}

// A killable is the store of a process that can be killed: nothing that it does afterwards is
// recorded.
type killable struct {
	ledger.Store
	dead atomic.Bool
}

func (k *killable) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	if k.dead.Load() {
		return nil, fmt.Errorf("%w: the process is dead", ledger.ErrInvalid) // which is not retried
	}
	return k.Store.Commit(ctx, writes...)
}

// TestThousands: a batch of thousands of items, in a file or inline, is written back and performed
// once each, although its worker is killed five times, told to stop five times, and loses answers
// [K4, S6]. At most one chunk is repeated each time, with the same keys and the same bytes.
func TestThousands(t *testing.T) {
	t.Parallel()
	for from, n := range map[string]int{
		"file": harness.Soak(t, 2_500, 5_000, 10_000), "inline": harness.Soak(t, 1_000, 2_000, 2_000),
	} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			w := simulated(t, n, from == "inline")
			random := rand.New(rand.NewPCG(1, 2))
			write := effect.Results("reviews")
			c := newTally()
			for end := range 10 {
				ctx, cancel := context.WithCancel(t.Context())
				store := &killable{Store: w.store}
				left := atomic.Int64{}
				left.Store(int64(n/20) + random.Int64N(int64(n)/25))
				report, err := w.runner(store, c.that(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
					if left.Add(-1) == 0 {
						store.dead.Store(end%2 == 0)
						cancel()
					}
					return write.Perform(ctx, task)
				})).Run(ctx, w.message())
				cancel()
				switch {
				case end%2 == 0 && err == nil:
					t.Fatalf("killed: %+v", report)
				case end%2 == 1 && (err != nil || report.Outcome != effect.Continued):
					t.Fatalf("stopped: %+v %v", report, err)
				}
				w.store.Advance(ledger.DefaultSettings().ClaimTTL + time.Second)
			}
			lossy := ledgertest.Inject(w.store, ledgertest.None, ledgertest.LoseAnswer, ledgertest.RepeatItself)
			report, err := w.runner(lossy, c.that(write.Perform)).Run(t.Context(), w.message())
			if err != nil || report.Outcome != effect.Finished {
				t.Fatalf("%+v %v", report, err)
			}
			w.stands(fmt.Sprintf("DONE done %d failed 0 of %[1]d", n))
			repeated := 0
			for _, times := range c.times {
				repeated += times - 1
			}
			if len(c.times) != n || repeated > 10*100 || len(c.differ) > 0 {
				t.Errorf("%d items, %d repeated, other bytes for %v", len(c.times), repeated, c.differ)
			}
			t.Logf("%d of %d were repeated", repeated, n)
			for i := 1; i <= n; i += 97 {
				key := fmt.Sprintf("request-%d", i)
				var doc effect.ItemResult
				w.read(ledger.ResultPath("reviews", w.key, key), &doc)
				if doc.Key != key || (doc.Response == "") == (doc.Error == "") || w.item(key).State != ledger.ItemDone {
					t.Fatalf("%s: %+v %+v", key, doc, w.item(key))
				}
			}
		})
	}
}

// TestBoundedMemory: the memory for 10,000 items of 2 KB each does not grow with their number.
func TestBoundedMemory(t *testing.T) { // not parallel: it measures the whole heap
	w := newItemsWorld(t, many(10_000, 2_000)).end()
	peak := held(t, func(look func()) {
		w.run(t.Context(), func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
			if task.Item.Index%1000 == 0 {
				look()
			}
			return nil, nil
		}, effect.Finished)
	})
	w.stands("DONE done 10000 failed 0 of 10000")
	t.Logf("20 MB of results, at most %d KiB held", peak>>10)
	if peak > 8<<20 {
		t.Errorf("%d bytes held", peak)
	}
}

// held runs do and returns the growth of the heap that do measured.
func held(t testing.TB, do func(look func())) int64 {
	t.Helper()
	measure := func() int64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	before := measure()
	var peak atomic.Int64
	do(func() {
		now := measure() - before
		for old := peak.Load(); now > old && !peak.CompareAndSwap(old, now); old = peak.Load() {
		}
	})
	return peak.Load()
}

// BenchmarkHundredThousand streams 100,000 items, with ten kills, and reports the most memory in
// use.
func BenchmarkHundredThousand(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		w := newItemsWorld(b, many(n, 500)).end()
		peak := held(b, func(look func()) {
			for killed := 0; ; killed++ {
				store := &killable{Store: w.store}
				report, err := w.runner(store, effect.HandlerFunc(func(_ context.Context, task effect.Task) ([]ledger.Write,
					error) {
					if task.Item.Index == int64(killed+1)*n/11 {
						look()
						store.dead.Store(true)
					}
					return nil, nil
				})).Run(b.Context(), w.message())
				if err == nil && report.Outcome == effect.Finished {
					return
				}
				if killed > 10 || !errors.Is(err, ledger.ErrInvalid) {
					b.Fatalf("%+v %v", report, err)
				}
				w.store.Advance(ledger.DefaultSettings().ClaimTTL + time.Second)
			}
		})
		w.stands("DONE done 100000 failed 0 of 100000")
		b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "items/s")
}
