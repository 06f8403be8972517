package reconcile_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// kinds are an operation that Gemini lists and one that it does not.
var kinds = []struct {
	name   string
	submit func(*world) operation.Name
}{
	{"batches", func(w *world) operation.Name { return w.submit("a", geminisim.StateRunning) }},
	{"interactions", func(w *world) operation.Name { return w.interaction("a", geminisim.InteractionInProgress) }},
}

// settled creates n operations that have ended and whose effect is done.
func (w *world) settled(n int) {
	w.Helper()
	name := w.register("settled", geminisim.StateRunning)
	w.deliver(name, "m1", operation.Succeeded)
	w.done(ledger.Message{Operation: name.Key, Effect: "publish"})
	w.copies(name, n-1)
}

// BenchmarkPass: passes over 20 pending operations in ledgers with more and more settled ones, each
// with a delivery and an effect. What a pass reads must not grow with these [L4]. Its time is that
// of the rate of requests to Gemini.
func BenchmarkPass(b *testing.B) {
	least := map[string]int{} // documents read by one pass in the smallest ledger, by kind
	for _, settled := range []int{100, 10_000, 1_000_000} {
		w := newWorld(b)
		w.settled(settled)
		for _, kind := range kinds {
			b.Run(fmt.Sprintf("settled=%d/%s", settled, kind.name), func(b *testing.B) {
				read := w.passes(b, kind.submit(w))
				if least[kind.name] == 0 {
					least[kind.name] = read
				}
				if read > least[kind.name] {
					b.Fatalf("L4: a pass reads %d documents, and %d in the smallest ledger", read, least[kind.name])
				}
			})
		}
	}
}

// passes measures passes over 20 operations of the kind of first, deletes them, and returns how
// many documents one pass reads.
func (w *world) passes(b *testing.B, first operation.Name) int {
	const pending = 20
	fleet := w.fleet(first, pending)
	store := ledgertest.Count(w.store)
	reconciler := w.reconciler(w.over(store))
	passes := 0
	pass := func() {
		w.clock.Advance(interval)
		got, err := reconciler.Pass(b.Context())
		if err != nil || got.Due != pending || got.Running != pending || got.Errors != 0 {
			b.Fatalf("%+v %v", got, err)
		}
		passes++
	}
	pass() // the first learns that they run
	before, requests := store.Counts(), fleet.requests()
	passes = 0
	for b.Loop() {
		pass()
	}
	per := func(n int) float64 { return float64(n) / float64(passes) }
	after := store.Counts()
	read := per(after.Read - before.Read)
	b.ReportMetric(read, "documents/pass")
	b.ReportMetric(per(after.Queries-before.Queries), "queries/pass")
	b.ReportMetric(per(after.Writes-before.Writes), "writes/pass")
	b.ReportMetric(per(fleet.requests()-requests), "requests/pass")
	w.exec("DELETE FROM documents WHERE instr(path, ?)", first.Key.ID())
	return int(math.Ceil(read))
}

// BenchmarkManyPending: 10,000 pending operations fall due at once: batches, which Gemini lists,
// and interactions, which it does not. It counts the passes until each was looked up.
func BenchmarkManyPending(b *testing.B) {
	const pending = 10_000
	for _, kind := range kinds {
		b.Run(kind.name, func(b *testing.B) {
			var passes, requests int
			for b.Loop() {
				b.StopTimer()
				w := newWorld(b)
				fleet := w.fleet(kind.submit(w), pending)
				w.clock.Advance(grace)
				b.StartTimer()
				for running, more := 0, true; more; passes++ {
					got := w.passWith(reconcile.Options{})
					if running, more = running+got.Running, got.More; !more && running != pending {
						b.Fatalf("%d of %d were seen to run: %+v", running, pending, got)
					}
				}
				requests += fleet.requests()
			}
			b.ReportMetric(float64(passes)/float64(b.N), "passes")
			b.ReportMetric(float64(requests)/float64(b.N), "requests")
		})
	}
}
