package results_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/results"
	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/storage"
	"github.com/opledger/opledger/test/itemworld"
)

const (
	bucket     = "results-of-reviews"
	objectName = "nightly/batches/abc/publish.jsonl"
)

// A bucketWorld is an items world whose effect writes the result to a simulated Cloud Storage.
type bucketWorld struct {
	*itemworld.World
	sim     *storagesim.Sim
	buckets *storage.Buckets
}

// several is a number of items, of 1 KB each, that make two small chunks and a last one.
const several = 700

func newBucketWorld(t testing.TB, handler http.Handler) *bucketWorld {
	t.Helper()
	sim := storagesim.Start(storagesim.Config{Buckets: []string{bucket}})
	t.Cleanup(sim.Close)
	buckets := storage.NewBuckets(sim.Addr())
	buckets.ChunkBytes = 256 << 10 // the smallest that Cloud Storage takes
	return &bucketWorld{World: itemworld.New(t, handler), sim: sim, buckets: buckets}
}

// process is one process of several, over a store that wraps the world's.
func (w *bucketWorld) process(store ledger.Store) *effect.Runner {
	w.Helper()
	handler, err := results.Object(results.ObjectOptions{
		Bucket: "gs://" + bucket + "/nightly/", Buckets: w.buckets, Results: w.Client,
		Log: slog.New(slog.NewTextHandler(w.Logged, nil)), Now: time.Now,
	})
	if err != nil {
		w.Fatal(err)
	}
	return effect.NewRunner(w.Over(store), map[string]effect.Handler{itemworld.Name: handler})
}

// attempt runs the effect once and checks the outcome.
func (w *bucketWorld) attempt(want effect.Outcome) effect.Report {
	w.Helper()
	report, err := w.process(w.Store).Run(w.Context(), w.Message())
	if err != nil {
		w.Fatalf("Run: %v", err)
	}
	if report.Outcome != want {
		w.Fatalf("Run: %s, want %s: %v", report.Outcome, want, report.Cause)
	}
	w.Store.Advance(ledger.DefaultSettings().ClaimTTL + time.Second) // past lease and back-off
	return report
}

// holds checks that there is one object, with so many items in order, and written once.
func (w *bucketWorld) holds(items int) storagesim.Object {
	w.Helper()
	if names := w.sim.Names(); len(names) != 1 || names[0] != bucket+"/"+objectName {
		w.Fatalf("objects %v", names)
	}
	object := w.sim.Object(bucket, objectName)
	lines := bytes.SplitAfter(object.Content, []byte("\n"))
	if len(lines) != items+1 || len(lines[items]) != 0 || object.Generation != 1 {
		w.Fatalf("%d lines, generation %d", len(lines)-1, object.Generation)
	}
	for i, line := range lines[:items] {
		var item struct{ Index int }
		if err := json.Unmarshal(line, &item); err != nil || item.Index != i {
			w.Fatalf("line %d: %v %.100s", i, err, line)
		}
	}
	return object
}
