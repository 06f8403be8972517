package items_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/effect"
	effectresults "github.com/opledger/opledger/shared/effect/results"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
	"github.com/opledger/opledger/test/itemworld"
)

// simulated is a world with a batch of n items at the simulator, by file or inline, some of which
// failed.
func simulated(t *testing.T, n int, inline bool) *itemworld.World {
	sim := geminisim.New(geminisim.Config{Seed: 7, Faults: geminisim.Faults{FailedItems: 0.01, Shuffled: 0.5}})
	t.Cleanup(sim.Close)
	w := itemworld.New(t, sim.Handler())
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
	w.Key, w.Result = operation.Key(job.Name), operation.Result{Inline: inline}
	return w.End()
}

// TestThousands: a batch of thousands of items, in a file or inline, is written back and performed
// once each, although its worker is killed five times, told to stop five times, and loses answers
// [K4, S6]. At most one chunk is repeated each time, with the same keys and the same bytes.
func TestThousands(t *testing.T) {
	t.Parallel()
	for from, n := range map[string]int{
		"file": harness.Soak(t, 1_500, 5_000, 10_000), "inline": harness.Soak(t, 1_000, 2_000, 2_000),
	} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			w := simulated(t, n, from == "inline")
			random := rand.New(rand.NewPCG(1, 2))
			write := effectresults.Documents("reviews")
			c := itemworld.NewTally()
			for end := range 10 {
				ctx, cancel := context.WithCancel(t.Context())
				store := &itemworld.Killable{Store: w.Store}
				left := atomic.Int64{}
				left.Store(int64(n/20) + random.Int64N(int64(n)/25))
				report, err := w.Runner(store, c.That(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
					if left.Add(-1) == 0 {
						store.Dead.Store(end%2 == 0)
						cancel()
					}
					return write.Perform(ctx, task)
				})).Run(ctx, w.Message())
				cancel()
				switch {
				case end%2 == 0 && err == nil:
					t.Fatalf("killed: %+v", report)
				case end%2 == 1 && (err != nil || report.Outcome != effect.Continued):
					t.Fatalf("stopped: %+v %v", report, err)
				}
				w.Store.Advance(ledger.DefaultSettings().ClaimTTL + time.Second)
			}
			lossy := ledgertest.Inject(w.Store, ledgertest.None, ledgertest.LoseAnswer, ledgertest.RepeatItself)
			report, err := w.Runner(lossy, c.That(write.Perform)).Run(t.Context(), w.Message())
			if err != nil || report.Outcome != effect.Finished {
				t.Fatalf("%+v %v", report, err)
			}
			w.Stands(fmt.Sprintf("DONE done %d failed 0 of %[1]d", n))
			repeated := 0
			for _, times := range c.Times {
				repeated += times - 1
			}
			if len(c.Times) != n || repeated > 10*100 || len(c.Differ) > 0 {
				t.Errorf("%d items, %d repeated, other bytes for %v", len(c.Times), repeated, c.Differ)
			}
			t.Logf("%d of %d were repeated", repeated, n)
			for i := 1; i <= n; i += 97 {
				key := fmt.Sprintf("request-%d", i)
				var doc effectresults.ItemResult
				w.Read(ledger.ResultPath("reviews", w.Key, key), &doc)
				if doc.Key != key || (doc.Response == "") == (doc.Error == "") || w.Item(key).State != ledger.ItemDone {
					t.Fatalf("%s: %+v %+v", key, doc, w.Item(key))
				}
			}
		})
	}
}

// TestBoundedMemory: the memory for 5,000 items of 4 KB each, and for half of them outside of the gate, does not grow
// with their number.
func TestBoundedMemory(t *testing.T) { // not parallel: it measures the whole heap
	items := 5_000
	if !harness.Thorough(t) {
		items = 2_500
	}
	w := itemworld.New(t, itemworld.Many(items, 4_000)).End()
	peak := itemworld.Held(t, func(look func()) {
		w.Run(t.Context(), func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
			if task.Item.Index%500 == 0 {
				look()
			}
			return nil, nil
		}, effect.Finished)
	})
	w.Stands(fmt.Sprintf("DONE done %d failed 0 of %[1]d", items))
	t.Logf("%d MB of results, at most %d KiB held", items*4/1000, peak>>10)
	if peak > 4<<20 {
		t.Errorf("%d bytes held", peak)
	}
}

// BenchmarkHundredThousand streams 100,000 items, with ten kills, and reports the most memory in
// use.
func BenchmarkHundredThousand(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		w := itemworld.New(b, itemworld.Many(n, 500)).End()
		peak := itemworld.Held(b, func(look func()) {
			for killed := 0; ; killed++ {
				store := &itemworld.Killable{Store: w.Store}
				report, err := w.Runner(store, effect.HandlerFunc(func(_ context.Context, task effect.Task) ([]ledger.Write,
					error) {
					if task.Item.Index == int64(killed+1)*n/11 {
						look()
						store.Dead.Store(true)
					}
					return nil, nil
				})).Run(b.Context(), w.Message())
				if err == nil && report.Outcome == effect.Finished {
					return
				}
				if killed > 10 || !errors.Is(err, ledger.ErrInvalid) {
					b.Fatalf("%+v %v", report, err)
				}
				w.Store.Advance(ledger.DefaultSettings().ClaimTTL + time.Second)
			}
		})
		w.Stands("DONE done 100000 failed 0 of 100000")
		b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "items/s")
}
