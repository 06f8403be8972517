package sqlite_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
)

// A bench is a ledger with one effect on success, over a counted store in a file.
type bench struct {
	*testing.B
	store  *ledgertest.Counting
	ledger *ledger.Ledger
	start  time.Time
}

func newBench(b *testing.B) *bench {
	store := open(b, filepath.Join(b.TempDir(), "ledger.db"))
	b.Cleanup(func() { closed(b, store) })
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: "publish", On: []operation.State{operation.Succeeded}}}
	counting := ledgertest.Count(store)
	l, err := ledger.New(counting, settings, ledger.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return &bench{b, counting, l, time.Now()}
}

// register registers the nth operation and returns its success.
func (b *bench) register(n int) operation.Event {
	b.Helper()
	name, err := operation.ParseName(fmt.Sprint("batches/bench-", n), "")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := b.ledger.Operations.Register(b.Context(), ledger.Registration{
		Name: name, Submission: operation.Submission{JobKind: "bench"},
	}); err != nil {
		b.Fatal(err)
	}
	return operation.Event{
		Name: name, DeliveryID: fmt.Sprint("delivery-", n), Source: operation.Webhook, Type: "batch.succeeded",
		State: operation.Succeeded, UpdateTime: b.start, Result: operation.Result{OutputFile: "files/output"},
	}
}

// BenchmarkIngest ingests the success of one registered operation after the other: record, delivery
// and effect. The difference to BenchmarkBareTransaction, in the same run, is the cost of the
// protocol above the commit itself.
func BenchmarkIngest(b *testing.B) {
	s := newBench(b)
	b.ReportAllocs()
	events := 0
	var commits, gets int
	for b.Loop() {
		b.StopTimer()
		e := s.register(events)
		before := s.store.Counts()
		b.StartTimer()
		r, err := s.ledger.Operations.Ingest(b.Context(), e)
		if err != nil || r.Planned != 1 {
			b.Fatalf("%+v, %v", r, err)
		}
		b.StopTimer()
		after := s.store.Counts()
		commits, gets = commits+after.Commits-before.Commits, gets+after.Gets-before.Gets
		events++
		b.StartTimer()
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(commits)/float64(events), "commits/event")
	b.ReportMetric(float64(gets)/float64(events), "reads/event")
}

// BenchmarkBareTransaction writes what Ingest writes, in one commit without deciding anything: the
// floor.
func BenchmarkBareTransaction(b *testing.B) {
	s := newBench(b)
	b.ReportAllocs()
	events := 0
	for b.Loop() {
		b.StopTimer()
		e := s.register(events)
		path := ledger.OperationPath(e.Key)
		snapshot, err := s.store.Get(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		var rec operation.Record
		if err := snapshot.Documents[0].Decode(&rec); err != nil {
			b.Fatal(err)
		}
		now := snapshot.ReadTime
		rec = operation.Apply(rec, e, now).WithEffect("publish", operation.EffectOpen).Lifetime(now, time.Hour)
		rec.Version++
		writes := []ledger.Write{
			{Path: path, Token: snapshot.Documents[0].Token, Data: rec},
			{Path: path.Child(ledger.DeliveriesCollection, e.DeliveryID), Data: ledger.Delivery{
				Schema: 1, ID: e.DeliveryID, Source: e.Source, Type: e.Type, Name: e.Resource, State: e.State,
				UpdateTime: e.UpdateTime, ReceivedAt: now, Outcome: ledger.Applied, Reason: operation.Advanced, Writer: "bench",
				ExpireAt: now.Add(time.Hour),
			}},
			{Path: ledger.EffectPath(e.Key, "publish"), Data: ledger.Effect{
				Schema: 1, Version: 1, Operation: e.Key, Name: "publish", State: ledger.EffectPending,
				IdempotencyKey: operation.IdempotencyKey(e.Key, "publish"), CreatedAt: now, ClaimableAt: now, DueAt: now,
				Payload: `{"operation":"batches/bench-0","state":"SUCCEEDED","jobKind":"bench",` +
					`"result":{"outputFile":"files/output"}}`,
			}},
		}
		b.StartTimer()
		if _, err := s.store.Commit(b.Context(), writes...); err != nil {
			b.Fatal(err)
		}
		events++
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(1, "commits/event")
}

// BenchmarkIngestSameOperation ingests the same delivery from 50 concurrent senders: one is
// applied, 49 are duplicates.
func BenchmarkIngestSameOperation(b *testing.B) {
	const senders = 50
	s := newBench(b)
	b.ReportAllocs()
	rounds := 0
	for b.Loop() {
		b.StopTimer()
		e := s.register(rounds)
		if rounds == 0 {
			s.store.Reset()
		}
		b.StartTimer()
		receipts, errs := make([]ledger.Receipt, senders), make([]error, senders)
		var group sync.WaitGroup
		for i := range senders {
			group.Go(func() { receipts[i], errs[i] = s.ledger.Operations.Ingest(b.Context(), e) })
		}
		group.Wait()
		applied := 0
		for i, r := range receipts {
			if errs[i] != nil {
				b.Fatal(errs[i])
			}
			if r.Outcome == ledger.Applied {
				applied++
			}
		}
		if applied != 1 {
			b.Fatalf("%d of %d were applied", applied, senders)
		}
		rounds++
	}
	n := s.store.Counts()
	n.Commits -= rounds - 1 // those of the registrations
	n.Gets -= rounds - 1
	b.ReportMetric(float64(rounds*senders)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(n.Commits)/float64(rounds*senders), "commits/event")
	b.ReportMetric(float64(n.Conflicts)/float64(rounds*senders), "conflicts/event")
}

// BenchmarkCommits commits one new document at a time, from so many callers at once. Commits that
// wait together share an fsync, so commits/s grows with the callers.
func BenchmarkCommits(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			store := open(b, filepath.Join(b.TempDir(), "ledger.db"))
			defer closed(b, store)
			var next atomic.Int64
			var group sync.WaitGroup
			b.ResetTimer()
			for range callers {
				group.Go(func() {
					for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
						write := ledger.Write{Path: ledger.Path(fmt.Sprint("operations/bench-", n)), Data: doc{}}
						if _, err := store.Commit(b.Context(), write); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}
