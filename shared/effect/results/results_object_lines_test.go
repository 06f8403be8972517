package results_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/itemworld"
)

// TestResultsObjectDownload: a download that breaks off is resumed in the same upload. One that
// fails, or whose result is lost, makes no object. A result that is shorter than its batch alerts.
func TestResultsObjectDownload(t *testing.T) {
	t.Parallel()
	var times atomic.Int64
	w := newBucketWorld(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		whole := itemworld.Many(several, 1000)
		n := times.Add(1)
		if n > 2 {
			whole(out, r)
			return
		}
		out.Header().Set("Content-Length", "99999999")
		whole(&cut{ResponseWriter: out, left: int(n) * 250_000}, r)
	}))
	w.Result.Counts = &operation.Counts{Total: several}
	w.End()
	w.attempt(effect.Finished)
	if w.holds(several); times.Load() != 3 {
		t.Errorf("%d downloads", times.Load())
	}

	w = newBucketWorld(t, http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Length", "99999999")
		_, _ = io.WriteString(out, `{"key":"a","response":1}`+"\n")
	}))
	w.End()
	if report := w.attempt(effect.Failed); len(w.sim.Names()) != 0 || strings.Contains(report.Cause.Error(), "gs://") {
		t.Errorf("%v, %v", report.Cause, w.sim.Names()) // it is not about Cloud Storage
	}

	var second atomic.Bool
	w = newBucketWorld(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if second.Swap(true) { // and there is less of it than was read before
			_, _ = io.WriteString(out, `{"key":"a","response":1}`+"\n")
			return
		}
		out.Header().Set("Content-Length", "99999999")
		itemworld.Many(several, 1000)(&cut{ResponseWriter: out, left: 250_000}, r)
	}))
	w.End()
	if report := w.attempt(effect.Failed); len(w.sim.Names()) != 0 ||
		!strings.Contains(report.Cause.Error(), "the result, read again, ends before item") {
		t.Errorf("%v, %v", report.Cause, w.sim.Names())
	}

	w = newBucketWorld(t, http.NotFoundHandler())
	w.End()
	w.attempt(effect.Failed)
	w.Store.Advance(24 * time.Hour)
	if report := w.attempt(effect.Died); !strings.Contains(report.Cause.Error(), "results lost") ||
		len(w.sim.Names()) != 0 {
		t.Errorf("%v, %v", report.Cause, w.sim.Names())
	}

	var longer atomic.Int64
	w = newBucketWorld(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		itemworld.Many(int(min(3+longer.Add(1), 5)))(out, r) // 4 items, then 5
	}))
	w.Result.Counts = &operation.Counts{Total: 6}
	w.End()
	if report := w.attempt(effect.Failed); len(w.sim.Names()) != 0 ||
		!strings.Contains(report.Cause.Error(), "two readings of the result differ; the first had 4 of 6 items") {
		t.Errorf("%v, %v", report.Cause, w.sim.Names())
	}

	w = newBucketWorld(t, itemworld.Many(3))
	w.Result.Counts = &operation.Counts{Total: 4}
	w.End()
	if report := w.attempt(effect.Died); !strings.Contains(report.Cause.Error(), "1 missing") || len(w.sim.Names()) != 1 {
		t.Errorf("%v, %v", report.Cause, w.sim.Names())
	}
	if logged := w.Logged.String(); !strings.Contains(logged, "event=alert reason=items-failed") ||
		!strings.Contains(logged, "done=3 total=4") {
		t.Errorf("%s", logged)
	}
}

// A cut is an answer that ends in the middle.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return c.ResponseWriter.Write(p)
}

// TestObjectOfAnotherOrder: a download that breaks off and goes on in another order would give an object
// that lacks some items and has others twice: the attempt fails, and the next one begins again [K4].
func TestObjectOfAnotherOrder(t *testing.T) {
	t.Parallel()
	result := &itemworld.Shuffled{Lines: itemworld.Numbered(several)}
	var broken atomic.Bool
	w := newBucketWorld(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if broken.Swap(true) {
			result.ServeHTTP(out, r)
			return
		}
		out.Header().Set("Content-Length", "99999999")
		itemworld.Lines(itemworld.Numbered(several)[:several/2]...)(out, r)
	}))
	w.End()
	report := w.attempt(effect.Failed)
	if !strings.Contains(report.Cause.Error(), "does not begin with the same") || len(w.sim.Names()) != 0 {
		t.Errorf("K4: %v, %v", report.Cause, w.sim.Names())
	}
	w.Store.Advance(report.RetryAfter)
	w.attempt(effect.Finished)
	w.holds(several)
}

// TestObjectAsksHowMany: an event about the end says nothing of how many requests the batch had, so
// Gemini is asked before a result counts as whole.
func TestObjectAsksHowMany(t *testing.T) {
	t.Parallel()
	w := newBucketWorld(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "batches/") {
			_, _ = io.WriteString(out, `{"metadata":{"batchStats":{"requestCount":"4"}}}`)
			return
		}
		itemworld.Many(3)(out, r)
	}))
	w.End()
	if report := w.attempt(effect.Died); !strings.Contains(report.Cause.Error(), "1 missing") {
		t.Errorf("%v", report.Cause)
	}
}
