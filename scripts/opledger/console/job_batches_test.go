package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// ofBatches is the page of a job of n batches in a file, of which some have ended and some run, from a console that
// shows them all.
func (w *world) ofBatches(n int) (address string) {
	w.Helper()
	options := w.console.options
	options.Parts, options.Every = 1000, time.Hour
	w.console = New(options)
	w.Cleanup(w.console.Close)
	key := operation.Key(fmt.Sprintf("jobs/of-%d", n))
	w.submit(key, int64(n), job.Options{MaxBatches: 20})
	w.cut(key, int64(n))
	for number := 1; number <= 10; number++ {
		w.start(key, number)
		if number <= 5 {
			w.event(batchKey(key, number), "end-"+string(batchKey(key, number)), operation.Succeeded, operation.Webhook)
			w.collect(key, number, job.Counts{Done: 9000, Refused: 100}, 900)
		}
	}
	w.advance(key)
	return link("/console/operation", theKey, string(key))
}

// TestThousandBatches: the page of a job in a file shows a thousand batches at once, those that are open first. That is
// under 50 ms, which BenchmarkThousandBatches measures: what costs the time is what is allocated, and that is bounded
// here, on any machine.
func TestThousandBatches(t *testing.T) { //nolint:paralleltest // it counts allocations
	w := newWorld(t)
	hundred, thousand := w.ofBatches(100), w.ofBatches(1000)
	page := w.get(thousand).Body.String()
	if n := strings.Count(page, `<tr id="part-`); n < 1000 || strings.Contains(page, "All parts") {
		t.Errorf("it has %d batches", n)
	}
	says(t, page, "5 of 1,00", "PLANNED", "CONSUMED")
	allocations := func(address string) float64 { return testing.AllocsPerRun(3, func() { w.get(address) }) }
	few, many := allocations(hundred), allocations(thousand)
	if t.Logf("%.0f allocations for 100 batches, %.0f for 1,000", few, many); many > 12*few || many > 200_000 {
		t.Errorf("%.0f allocations for 100 batches, %.0f for 1,000", few, many)
	}
}

// BenchmarkThousandBatches opens the page of a job with a thousand batches, which a file has.
func BenchmarkThousandBatches(b *testing.B) {
	w := newWorld(b)
	address := w.ofBatches(1000)
	for b.Loop() {
		answer := httptest.NewRecorder()
		w.console.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, address, nil))
		if answer.Code != http.StatusOK {
			b.Fatal(answer.Body)
		}
	}
}
