package effect_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/log"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// BenchmarkEffect runs b.N effects from their message to their end, with a handler that only logs,
// by 1 and by 16 callers. In turns with it, other operations' documents are read and written
// without a ledger, in the same two transactions. The ratio of the two speeds is the metric
// "of-bare".
func BenchmarkEffect(b *testing.B) {
	for _, store := range []struct {
		name string
		open func(testing.TB) *metered
	}{{"sqlite", inFile}, {"firestore", onEmulator}} {
		for _, callers := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/callers=%d", store.name, callers), func(b *testing.B) {
				benchmarkEffect(b, store.open(b),
					callers)
			})
		}
	}
}

func benchmarkEffect(b *testing.B, m *metered, callers int) {
	l := manyEnded(b, m, 2*b.N) // the second half is for the bare transactions
	runner := effect.NewRunner(l, map[string]effect.Handler{name: log.New(slog.New(slog.DiscardHandler))})
	run := func(i int) error {
		report, err := runner.Run(b.Context(), ledger.Message{Operation: nth(i), Effect: name, Attempt: 1})
		if err == nil && report.Outcome != effect.Finished {
			err = fmt.Errorf("%+v", report)
		}
		return err
	}
	bare := make([]bareEffect, b.N)
	eachOf(b, 0, b.N, 16, func(i int) error { return bare[i].read(b, m, nth(b.N+i)) })
	var rates, bareRates []float64 // of each turn
	var spent cost
	b.ResetTimer()
	for from := 0; from < b.N; {
		to := min(from+16*callers, b.N)
		before := m.cost()
		took := eachOf(b, from, to, callers, run)
		now := m.cost().since(before)
		spent = cost{spent.requests + now.requests, spent.reads + now.reads, spent.writes + now.writes}
		bareTook := eachOf(b, from, to, callers, func(i int) error { return bare[i].run(b, m) })
		rates, bareRates = append(rates, float64(to-from)/took.Seconds()), append(bareRates,
			float64(to-from)/bareTook.Seconds())
		from = to
	}
	b.StopTimer()
	rate, bareRate := median(rates), median(bareRates)
	b.ReportMetric(0, "ns/op") // of both together
	b.ReportMetric(rate, "effects/s")
	b.ReportMetric(bareRate, "bare/s")
	b.ReportMetric(rate/bareRate, "of-bare")
	b.ReportMetric(float64(spent.requests)/float64(b.N), "rpcs/effect")
	b.ReportMetric(float64(spent.reads)/float64(b.N), "reads/effect")
	b.ReportMetric(float64(spent.writes)/float64(b.N), "writes/effect")
}

// median ignores the outliers that other programs on the machine cause.
func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// A bareEffect is an effect and its record as they are stored, so that only reading and writing is
// left to do.
type bareEffect struct {
	effect ledger.Effect
	record operation.Record
}

func (e *bareEffect) read(b *testing.B, store ledger.Store, key operation.Key) error {
	snapshot, err := store.Get(b.Context(), ledger.EffectPath(key, name), ledger.OperationPath(key))
	if err == nil {
		err = snapshot.Documents[0].Decode(&e.effect)
	}
	if err == nil {
		err = snapshot.Documents[1].Decode(&e.record)
	}
	return err
}

// run reads and writes what a claim and a finish read and write.
func (e *bareEffect) run(b *testing.B, store ledger.Store) error {
	path, record := ledger.EffectPath(e.effect.Operation, name), ledger.OperationPath(e.effect.Operation)
	snapshot, err := store.Get(b.Context(), path)
	if err != nil {
		return err
	}
	e.effect.Version++
	e.effect.State, e.effect.Owner, e.effect.Fence, e.effect.Attempts = ledger.EffectClaimed, "bare", 1, 1
	if _, err := store.Commit(b.Context(), ledger.Write{Path: path, Token: snapshot.Documents[0].Token,
		Data: e.effect}); err != nil {
		return err
	}
	if snapshot, err = store.Get(b.Context(), path, record); err != nil {
		return err
	}
	e.effect.Version++
	e.record.Version++
	e.effect.State, e.effect.DoneAt = ledger.EffectDone, snapshot.ReadTime
	_, err = store.Commit(b.Context(), ledger.Write{Path: path, Token: snapshot.Documents[0].Token, Data: e.effect},
		ledger.Write{Path: record, Token: snapshot.Documents[1].Token, Data: e.record})
	return err
}

// eachOf calls do for from to to-1 from a number of callers, and returns the time that they took
// together.
func eachOf(t testing.TB, from, to, callers int, do func(i int) error) time.Duration {
	t.Helper()
	began := time.Now()
	var group errgroup.Group
	group.SetLimit(callers)
	for i := from; i < to; i++ {
		group.Go(func() error { return do(i) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}
