package console

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

// million is how many operations the ledger of BenchmarkMillion has.
const million = 1_000_000

// BenchmarkMillion opens pages over a file with a million operations, each as often as b.N. The
// greatest time of a page is reported, too. Filling the file takes minutes.
func BenchmarkMillion(b *testing.B) { benchPages(b, million, 0) }

// BenchmarkBadNight opens pages over a file with 20,500 operations. Of these 500 have a dead effect of one receiver,
// 500 one that waits or backs off, and 500 more are pending.
func BenchmarkBadNight(b *testing.B) { benchPages(b, 19_000, 500) }

// benchPages opens pages over a file with so many operations, and as many of each trouble.
func benchPages(b *testing.B, operations, trouble int) {
	b.Helper()
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	}()
	began := time.Now()
	fill(b, store, operations)
	fillTrouble(b, store, trouble)
	b.Logf("filled in %v", time.Since(began).Round(time.Second))
	l, err := ledger.New(store, ledger.DefaultSettings(), ledger.Options{})
	if err != nil {
		b.Fatal(err)
	}
	c := New(Options{
		Ledger: l.Reading(), Effects: phrase.EffectView{Max: 10, RetryFor: 24 * time.Hour, Store: "sqlite:demo.db"},
		Location: config.Store{SQLite: "demo.db"}, Interval: 5 * time.Minute,
		Every: time.Hour, Most: 100, Ends: 50, Parts: 1000, OpenParts: 100, Log: slog.New(slog.DiscardHandler),
	})
	defer c.Close()
	for _, address := range []string{
		"/", "/console/operations", "/console/operations?state=EXPIRED", "/console/operations?state=SUCCEEDED",
		"/console/operations?collection=batchPredictionJobs", "/console/operations?state=FAILED&collection=batches",
		"/console/operations?state=CANCELLED&collection=interactions", "/console/operations?job=once",
		"/console/operations?job=on*", "/console/operations?state=SUCCEEDED&job=once", "/console/operations?show=dead",
		"/console/operations?show=dead&state=SUCCEEDED", "/console/operations?show=pending",
		"/console/operations?show=pending&state=RUNNING&collection=interactions", "/console/operations?since=24h",
		"/console/operations?since=72h&state=EXPIRED", "/console/effects", "/console/effects?show=dead", "/console/intents",
		"/console/quarantine", "/console/receivers", "/console/jobs", "/console/operations?show=late",
		fmt.Sprintf("/console/operation?key=batches%%2F%d", operations/2),
	} {
		b.Run(address, func(b *testing.B) {
			var longest time.Duration
			used := processorTime(b)
			for b.Loop() {
				began := time.Now()
				answer := httptest.NewRecorder()
				c.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, address, nil))
				longest = max(longest, time.Since(began))
				if answer.Code != http.StatusOK {
					b.Fatalf("%d: %s", answer.Code, answer.Body)
				}
			}
			b.ReportMetric(float64(longest.Microseconds())/1000, "ms-longest")
			b.ReportMetric(float64((processorTime(b)-used).Microseconds())/1000/float64(b.N), "ms-cpu/op")
		})
	}
}

// processorTime is how much this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// fillTrouble adds so many operations with a dead effect, with an open one, half of which back off, and pending ones.
func fillTrouble(b *testing.B, store *sqlite.Store, n int) {
	b.Helper()
	now := time.Now().UTC().Truncate(time.Microsecond)
	var writes []ledger.Write
	for i := range n {
		at := now.Add(-time.Duration(i) * time.Second)
		base := operation.Record{
			Schema: 1, Version: 3, Collection: operation.Batches, Registered: true, CreatedAt: at, SubmittedAt: at,
			Submission: operation.Submission{JobKind: "nightly"},
		}
		for _, kind := range []string{"dead", "open", "pending"} {
			rec := base
			rec.Key = operation.Key(fmt.Sprintf("batches/%s-%d", kind, i))
			rec.Name, rec.State, rec.SettledAt, rec.SettledBy = string(rec.Key), operation.Succeeded, at, operation.Webhook
			e := ledger.Effect{
				Schema: 1, Version: 3, Operation: rec.Key, Name: "publish", Payload: "{}", Fence: 1, Attempts: 1, CreatedAt: at,
				IdempotencyKey: operation.IdempotencyKey(rec.Key, "publish"), LastError: "https://hooks.example answered 503",
			}
			switch kind {
			case "pending":
				rec.State, rec.SettledAt, rec.SettledBy = operation.Running, time.Time{}, ""
				rec.DueAt, rec.LateAt = now.Add(time.Hour), at
			case "dead":
				rec = rec.WithEffect("publish", operation.EffectDead)
				e.State, e.DiedAt = ledger.EffectDead, at
			case "open":
				rec = rec.WithEffect("publish", operation.EffectOpen)
				e.State, e.DueAt, e.ClaimableAt = ledger.EffectPending, now.Add(time.Hour), now.Add(time.Hour)
				if i%2 == 0 {
					e.Failing, e.FailingSince = &ledger.Failing{Since: at, Last: at, Times: 2}, at
				}
			}
			writes = append(writes, ledger.Write{Path: ledger.OperationPath(rec.Key), Data: rec})
			if kind != "pending" {
				writes = append(writes, ledger.Write{Path: ledger.EffectPath(rec.Key, "publish"), Data: e})
			}
		}
	}
	if len(writes) == 0 {
		return
	}
	if _, err := store.Commit(b.Context(), writes...); err != nil {
		b.Fatal(err)
	}
}

// fill fills a file with two weeks of so many operations. Rare are: a collection, three states, a job
// kind, dead effects, conflicts, and what is pending.
func fill(b *testing.B, store *sqlite.Store, operations int) {
	b.Helper()
	const perCommit = 20_000
	now := time.Now()
	var writes []ledger.Write
	for i := range operations {
		at := now.Add(-14 * 24 * time.Hour * time.Duration(operations-i) / time.Duration(operations))
		writes = append(writes, millionth(i, at)...)
		if len(writes) < perCommit && i < operations-1 {
			continue
		}
		if _, err := store.Commit(b.Context(), writes...); err != nil {
			b.Fatal(err)
		}
		writes = writes[:0]
	}
}

// millionth returns the documents of the ith operation.
func millionth(i int, at time.Time) []ledger.Write {
	rec := operation.Record{
		Schema: 1, Version: 3, Collection: operation.Batches,
		Submission: operation.Submission{
			JobKind:  "nightly-" + fmt.Sprint(i%40),
			Metadata: `{"reviews":["eine-Kennung-1","eine-Kennung-2"],"team":"reviews"}`,
		}, Registered: true,
		State: operation.Succeeded, CreatedAt: at, SubmittedAt: at, UpdateTime: at.Add(time.Minute),
		SettledAt: at.Add(time.Minute + time.Second), SettledBy: operation.Webhook, ExpireAt: at.Add(15 * 24 * time.Hour),
		Result:  operation.Result{OutputFile: "files/output-of-this-batch"},
		Effects: map[string]operation.EffectStatus{"publish": operation.EffectDone},
	}
	switch {
	case i%10_000 == 1:
		rec.Collection = "batchPredictionJobs"
	case i%10 == 2:
		rec.Collection = operation.Interactions
	case i%5 == 3:
		rec.Collection = operation.Operations
	}
	switch {
	case i%20_000 == 5:
		rec.State = operation.Expired
	case i%2_000 == 6:
		rec.State = operation.Cancelled
	case i%200 == 7:
		rec.State = operation.Failed
	case i%300 == 8:
		rec.State, rec.DueAt = operation.Running, at.Add(time.Hour)
		rec.SettledAt, rec.SettledBy, rec.ExpireAt, rec.Effects = time.Time{}, "", time.Time{}, nil
	}
	if i%10_000 == 9 {
		rec.JobKind = "once"
	}
	if i%50_000 == 10 {
		rec.ConflictAt, rec.ConflictState, rec.ConflictBy = at.Add(time.Hour), operation.Failed, operation.Webhook
	}
	rec.Key = operation.Key(fmt.Sprintf("%s/%d", rec.Collection, i))
	rec.Name = string(rec.Key)
	writes := []ledger.Write{{Path: ledger.OperationPath(rec.Key), Data: rec}}
	if i%5_000 == 11 {
		rec = rec.WithEffect("publish", operation.EffectDead)
		rec.ExpireAt = time.Time{}
		writes = []ledger.Write{
			{Path: ledger.OperationPath(rec.Key), Data: rec},
			{Path: ledger.EffectPath(rec.Key, "publish"), Data: ledger.Effect{
				Schema: 1, Version: 3, Operation: rec.Key, Name: "publish", State: ledger.EffectDead, Payload: "{}", Fence: 1,
				IdempotencyKey: operation.IdempotencyKey(rec.Key, "publish"), Attempts: 1, LastError: "503", CreatedAt: at,
				DiedAt: at.Add(time.Hour),
			}},
		}
	}
	return writes
}
