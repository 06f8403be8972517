package firestore_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	cloud "cloud.google.com/go/firestore"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/harness/meter"
)

// BenchmarkIngest ingests one completion of each of b.N registered operations, with 1, 16 and 64
// callers: two reads, and three writes with the planned effect. For comparison it does the same
// reads and writes without a ledger: as a preconditioned transaction, with the reads inside the
// transaction, and without a transaction.
func BenchmarkIngest(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		for _, way := range ways() {
			b.Run(fmt.Sprintf("callers=%d/%s", callers, way.name), func(b *testing.B) {
				var m meter.Meter
				store, client := both(b, m.Dial()...)
				l := newLedger(b, store, &outbox{})
				concurrently(b, 32, func(i int) error {
					_, err := l.Operations.Register(b.Context(), ledger.Registration{Name: nameOf(i), SubmittedAt: today})
					return err
				})
				m.Collect()
				b.ResetTimer()
				took := concurrently(b, callers, func(i int) error { return way.ingest(b.Context(), l, client, i) })
				b.StopTimer()
				report(b, m.Collect(), took)
			})
		}
	}
}

type way struct {
	name   string
	ingest func(ctx context.Context, l *ledger.Ledger, client *cloud.Client, i int) error
}

func ways() []way {
	return []way{
		{"ledger", func(ctx context.Context, l *ledger.Ledger, _ *cloud.Client, i int) error {
			_, err := l.Operations.Ingest(ctx, success(i, "delivery"))
			return err
		}},
		{"bare", func(ctx context.Context, _ *ledger.Ledger, client *cloud.Client, i int) error {
			record, delivery, effect := refs(client, i)
			read, err := client.GetAll(ctx, []*cloud.DocumentRef{record, delivery})
			if err != nil {
				return err
			}
			return client.RunTransaction(ctx, func(_ context.Context, tx *cloud.Transaction) error {
				return write(tx, read[0], delivery, effect, cloud.LastUpdateTime(read[0].UpdateTime))
			})
		}},
		{"read-inside", func(ctx context.Context, _ *ledger.Ledger, client *cloud.Client, i int) error {
			record, delivery, effect := refs(client, i)
			return client.RunTransaction(ctx, func(_ context.Context, tx *cloud.Transaction) error {
				read, err := tx.GetAll([]*cloud.DocumentRef{record, delivery})
				if err != nil {
					return err
				}
				return write(tx, read[0], delivery, effect)
			})
		}},
		{"no-transaction", func(ctx context.Context, _ *ledger.Ledger, client *cloud.Client, i int) error {
			record, delivery, effect := refs(client, i)
			read, err := client.GetAll(ctx, []*cloud.DocumentRef{record, delivery})
			if err != nil {
				return err
			}
			//lint:ignore SA1019 it shows what one request less would save
			batch := client.Batch()
			_, err = batch.Update(record, changes(), cloud.LastUpdateTime(read[0].UpdateTime)).
				Create(delivery, content()).Create(effect, content()).Commit(ctx)
			return err
		}},
	}
}

func refs(client *cloud.Client, i int) (record, delivery, effect *cloud.DocumentRef) {
	record = client.Doc(string(ledger.OperationPath(nameOf(i).Key)))
	return record, record.Collection("deliveries").Doc("delivery"), record.Collection("effects").Doc(publish)
}

func write(
	tx *cloud.Transaction, record *cloud.DocumentSnapshot, delivery, effect *cloud.DocumentRef,
	preconditions ...cloud.Precondition,
) error {
	if err := tx.Update(record.Ref, changes(), preconditions...); err != nil {
		return err
	}
	if err := tx.Create(delivery, content()); err != nil {
		return err
	}
	return tx.Create(effect, content())
}

// changes and content are about as large as the ledger's.
func changes() []cloud.Update {
	var updates []cloud.Update
	for name, value := range content() {
		updates = append(updates, cloud.Update{Path: name, Value: value})
	}
	return updates
}

func content() map[string]any {
	content := map[string]any{
		"version": 2, "state": "SUCCEEDED", "updateTime": today, "settledAt": today,
		"effects": map[string]string{publish: "open"},
	}
	for i := range 10 {
		content[fmt.Sprint("field", i)] = "batches/some-operation-id"
	}
	return content
}

// BenchmarkManyAtOnce ingests 50 and 200 concurrent deliveries of one completion, b.N times, with
// the same delivery id or with different ones. With one ledger the callers wait for each other in
// it, as in one process. With a ledger for each they meet only in the store, as the callers of as
// many processes do.
func BenchmarkManyAtOnce(b *testing.B) {
	for _, callers := range []int{50, 200} {
		for _, identical := range []bool{true, false} {
			for _, queue := range []bool{false, true} {
				b.Run(fmt.Sprintf("callers=%d/identical=%v/queue=%v", callers, identical, queue), func(b *testing.B) {
					var m meter.Meter
					var store ledger.Store = open(b, m.Dial()...)
					defer func() { _ = store.Close() }()
					ledgers := []*ledger.Ledger{newLedger(b, store, &outbox{})}
					for !queue && len(ledgers) < callers {
						ledgers = append(ledgers, newLedger(b, store, &outbox{}))
					}
					times := make([]time.Duration, b.N)
					for i := range b.N {
						b.StopTimer()
						r := ledger.Registration{Name: nameOf(i), SubmittedAt: today}
						if _, err := ledgers[0].Operations.Register(b.Context(), r); err != nil {
							b.Fatal(err)
						}
						if i == 0 {
							m.Collect()
						}
						b.StartTimer()
						start := time.Now()
						if got := burst(b, ledgers, i, callers, identical); got[ledger.Applied] != 1 {
							b.Errorf("outcomes %v", got)
						}
						times[i] = time.Since(start)
					}
					b.StopTimer()
					slices.Sort(times)
					total := m.Collect()
					b.ReportMetric(float64(times[len(times)/2].Milliseconds()), "ms/burst(p50)")
					b.ReportMetric(float64(times[len(times)-1].Milliseconds()), "ms/burst(max)")
					b.ReportMetric(float64(total.Requests())/float64(b.N*callers), "rpcs/event")
					b.ReportMetric(float64(total.Reads)/float64(b.N*callers), "reads/event")
				})
			}
		}
	}
}

// concurrently calls do for 0 to b.N-1 from a number of callers, and returns how long each call
// took.
func concurrently(b *testing.B, callers int, do func(i int) error) []time.Duration {
	b.Helper()
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < b.N; i = int(next.Add(1)) - 1 {
				start := time.Now()
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(start)
			}
		})
	}
	wg.Wait()
	return took
}

func report(b *testing.B, total meter.Metered, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	n := float64(b.N)
	b.ReportMetric(n/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms(p50)")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms(p99)")
	b.ReportMetric(float64(total.Requests())/n, "rpcs/event")
	b.ReportMetric(float64(total.Reads)/n, "reads/event")
	b.ReportMetric(float64(total.Writes)/n, "writes/event")
}
