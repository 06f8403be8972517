package results_test

import (
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/results"
	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/itemworld"
)

// TestResultsObjectFound: an object that is there is not compared with a result that could not be read
// to its end: the attempt is repeated [S4].
func TestResultsObjectFound(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	w := newBucketWorld(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if broken.Load() { // behind the first chunk, to which Cloud Storage answers that the object is there
			out.Header().Set("Content-Length", "99999999")
			out = &cut{ResponseWriter: out, left: 600_000}
		}
		itemworld.Many(several, 1000)(out, r)
	}))
	w.End()
	w.sim.Lose(storagesim.Last, 0)
	w.attempt(effect.Failed)
	broken.Store(true)
	w.attempt(effect.Failed)
	broken.Store(false)
	w.attempt(effect.Finished)
	w.holds(several)
}

// TestResultsObjectLater: without a clock of its own the handler still knows how long to wait.
func TestResultsObjectLater(t *testing.T) {
	t.Parallel()
	w := newBucketWorld(t, itemworld.Many(1))
	w.End()
	handler, err := results.Object(results.ObjectOptions{
		Bucket: "gs://" + bucket, Buckets: w.buckets, Results: w.Client, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.sim.Fail(storagesim.Begin, http.StatusTooManyRequests, "slow down")
	_, err = handler.Perform(t.Context(), effect.Task{Lease: ledger.Lease{
		Operation: w.Key, Effect: itemworld.Name,
		Payload: []byte(`{"operation":"batches/abc","result":{"outputFile":"files/batch-abc"}}`),
	}})
	if err == nil || effect.IsPermanent(err) {
		t.Error(err)
	}
}
