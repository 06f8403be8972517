package steps_test

import (
	"fmt"
	"testing"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
)

// mostWrites is how many documents a batch of a job may write, from the submission to the end of the job, beside
// look-ups. test/load/README.md states how many it does.
const mostWrites = 30

// TestWhatAJobWrites: a job writes few documents for each batch, and none for a request. Its deliveries come, and
// nothing is looked up.
func TestWhatAJobWrites(t *testing.T) {
	t.Parallel()
	const batches = 12
	for name, c := range map[string]struct {
		faults  geminisim.Faults
		options job.Options
	}{
		"all is done":         {},
		"some are sent again": {faults: geminisim.Faults{ItemErrors: 0.2}, options: job.Options{MaxAttempts: 2}},
		"lines are missing":   {faults: geminisim.Faults{MissingLines: 0.2}, options: job.Options{MaxAttempts: 2}},
		"lines are foreign":   {faults: geminisim.Faults{ForeignLines: 0.2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			written := map[int]int{}
			sizes := []int{10, 50}
			if c.options.MaxAttempts > 0 { // how many are sent again is not the same for both
				sizes = []int{50}
			}
			for _, each := range sizes {
				var store *ledgertest.Counting
				w := newWorld(t, setting{
					sim: geminisim.Config{Seed: 5, Faults: c.faults},
					store: func(s ledger.Store) ledger.Store {
						store = ledgertest.Count(s)
						return store
					},
				})
				options := c.options
				options.MaxRequestsPerBatch = int64(each)
				w.submit(requests(batches*each), options)
				w.deliverAll()
				all := w.ended().Parts
				if all < batches || c.options.MaxAttempts > 1 && all == batches {
					t.Errorf("%d requests made %d batches", batches*each, all)
				}
				writes := store.Counts().Writes
				t.Logf("%d requests in %d batches: %.1f writes for each batch", batches*each, all,
					float64(writes)/float64(all))
				if writes > mostWrites*all {
					t.Errorf("%d batches wrote %d documents, more than %d for each", all, writes, mostWrites)
				}
				written[each] = writes
			}
			if c.options.MaxAttempts == 0 && written[10] != written[50] {
				t.Errorf("five times the requests write %d documents, not %d", written[50], written[10])
			}
		})
	}
}

// deliverAll runs a job to its end, by what is delivered of its batches alone.
func (w *world) deliverAll() {
	w.Helper()
	for range 10 {
		w.drain()
		if w.record(nightly).Closed() {
			return
		}
		w.ends(func(s geminisim.Stats) bool { return s.Settled == s.Created })
		for _, b := range w.sim.Batches() {
			if w.learned[b.Name] {
				continue
			}
			w.learned[b.Name] = true
			if _, err := w.ledger.Operations.Ingest(w.Context(), operation.Event{
				Name: operation.Name{Key: operation.Key(b.Name), Resource: b.Name}, DeliveryID: "of-" + b.Name,
				Source: operation.Webhook, State: operation.Succeeded, UpdateTime: b.UpdateTime,
				CorrelationID: fmt.Sprint(b.UserMetadata[gemini.CorrelationKey]),
				Result:        operation.Result{OutputFile: b.ResultFile},
			}); err != nil {
				w.Fatal(err)
			}
		}
	}
	w.Fatalf("the job has not ended: %+v", w.job())
}
