package lookup_test

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// inlineItem is a result of 64 KiB.
var inlineItem = `{"response":{"candidates":[{"content":{"parts":[{"text":"` + strings.Repeat("x", 64<<10) + `"}]}}]}},`

// writeItems writes n inline results, and stores the peak of the memory in use by both sides.
func writeItems(w io.Writer, n int, most *atomic.Uint64) {
	for i := range n {
		if _, err := io.WriteString(w, inlineItem); err != nil {
			return
		}
		if i%64 == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapAlloc))
		}
	}
}

// held returns the memory in use.
func held() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestLookupStreams: a batch with many inline results is streamed. Not parallel, because it
// measures memory.
func TestLookupStreams(t *testing.T) {
	const items = 640 // 40 MiB
	var most atomic.Uint64
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"metadata":{"output":{"inlinedResponses":{"inlinedResponses":[`)
		writeItems(w, items, &most)
		_, _ = io.WriteString(w, `null]}},"state":"BATCH_STATE_SUCCEEDED"}}`)
	})
	before := held()
	got := client.Lookup(t.Context(), operationName(t, "batches/abc123"))
	if diff := cmp.Diff(lookup.Answer{State: operation.Succeeded, Result: operation.Result{Inline: true}},
		got); diff != "" {
		t.Errorf("R6: -want +got\n%s", diff)
	}
	if most.Load() > before+8<<20 {
		t.Errorf("R6: %d bytes held of an answer of %d", most.Load()-before, items*len(inlineItem))
	}
}

// TestListStreams: a page whose batches have 100 MB of inline results, or 40 at the short level,
// each twice as in live answers. Not parallel, because it measures memory.
func TestListStreams(t *testing.T) {
	const batches = 16
	items := harness.Soak(t, 20, 50, 50)
	var most atomic.Uint64
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"operations":[`)
		for range batches {
			for _, before := range []string{
				`{"metadata":{"state":"BATCH_STATE_SUCCEEDED","output":{"inlinedResponses":{"inlinedResponses":[`,
				`null]}}},"response":{"inlinedResponses":{"inlinedResponses":[`,
			} {
				_, _ = io.WriteString(w, before)
				writeItems(w, items, &most)
			}
			_, _ = io.WriteString(w, `null]}},"name":"batches/a"},`)
		}
		_, _ = io.WriteString(w, `null],"nextPageToken":"2"}`)
	})
	before := held()
	page, err := client.ListBatches(t.Context(), 0, "")
	if err != nil || len(page.Batches) != batches+1 || page.NextPageToken != "2" {
		t.Fatalf("R6: %d batches, token %q, %v", len(page.Batches), page.NextPageToken, err)
	}
	for i, batch := range page.Batches[:batches] {
		if batch.State != operation.Succeeded || !batch.Result.Inline {
			t.Errorf("R6: batch %d is %+v", i, batch)
		}
	}
	if most.Load() > before+8<<20 {
		t.Errorf("R6: %d bytes held of a page of %d", most.Load()-before, 2*batches*items*len(inlineItem))
	}
}

// TestStreamsNoGiant: one text is held in memory, and so is bounded. It fails its own look-up only [R6].
func TestStreamsNoGiant(t *testing.T) {
	t.Parallel()
	part := strings.Repeat("x", 1<<20)
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"metadata":{"state":"BATCH_STATE_SUCCEEDED"},"x":"`)
		for range 40 {
			if _, err := io.WriteString(w, part); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, `"}`)
	})
	for _, name := range names {
		checkUnknown(t, client.Lookup(t.Context(), operationName(t, name)), lookup.TooLarge)
	}
	if _, err := client.ListBatches(t.Context(), 0, ""); err == nil || !strings.Contains(err.Error(), lookup.TooLarge) {
		t.Errorf("R6: listing: %v", err)
	}
}
