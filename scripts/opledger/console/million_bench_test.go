package console

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
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
func BenchmarkMillion(b *testing.B) {
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
	fillMillion(b, store)
	b.Logf("filled in %v", time.Since(began).Round(time.Second))
	l, err := ledger.New(store, ledger.DefaultSettings(), ledger.Options{})
	if err != nil {
		b.Fatal(err)
	}
	c := New(Options{
		Ledger: l.Reading(), Effects: phrase.EffectView{Max: 10, RetryFor: 24 * time.Hour, Store: "sqlite:demo.db"},
		Location: config.Store{SQLite: "demo.db"}, Interval: 5 * time.Minute,
		Every: time.Hour, Most: 100, Parts: 1000, OpenParts: 100, Log: slog.New(slog.DiscardHandler),
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
		"/console/quarantine", "/console/operation?key=batches%2F500000",
	} {
		b.Run(address, func(b *testing.B) {
			var longest time.Duration
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
		})
	}
}

// fillMillion fills a file with two weeks of operations. Rare are: a collection, three states, a job
// kind, dead effects, conflicts, and what is pending.
func fillMillion(b *testing.B, store *sqlite.Store) {
	b.Helper()
	const perCommit = 20_000
	now := time.Now()
	var writes []ledger.Write
	for i := range million {
		at := now.Add(-14 * 24 * time.Hour * time.Duration(million-i) / million)
		writes = append(writes, millionth(i, at)...)
		if len(writes) < perCommit && i < million-1 {
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
