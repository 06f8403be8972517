package effect_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestResultsObjectFaults: whatever fails on the way, there is one whole object in the end, written once; an attempt whose answer
// was lost is followed by one that finds it [S4].
func TestResultsObjectFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault    func(sim *storagesim.Sim)
		outcomes []effect.Outcome
	}{
		"none":                        {func(*storagesim.Sim) {}, []effect.Outcome{effect.Finished}},
		"a chunk is refused":          {func(s *storagesim.Sim) { s.Fail(storagesim.Chunk, 503, "") }, []effect.Outcome{effect.Finished}},
		"a chunk's answer is lost":    {func(s *storagesim.Sim) { s.Lose(storagesim.Chunk, 503) }, []effect.Outcome{effect.Finished}},
		"the last answer is a 503":    {func(s *storagesim.Sim) { s.Lose(storagesim.Last, 503) }, []effect.Outcome{effect.Finished}},
		"the last answer never comes": {func(s *storagesim.Sim) { s.Lose(storagesim.Last, 0) }, []effect.Outcome{effect.Failed, effect.Finished}},
		"the same, and no right to delete": {func(s *storagesim.Sim) {
			s.Lose(storagesim.Last, 0)
			s.Deny("storage.objects.delete")
			s.Deny("storage.objects.list")
		}, []effect.Outcome{effect.Failed, effect.Finished}},
		"the beginning is refused": {func(s *storagesim.Sim) { s.Fail(storagesim.Begin, 503, "") }, []effect.Outcome{effect.Failed, effect.Finished}},
		"the content is damaged":   {func(s *storagesim.Sim) { s.Damage() }, []effect.Outcome{effect.Failed, effect.Finished}},
		"what is there cannot be looked at": {func(s *storagesim.Sim) {
			s.Lose(storagesim.Last, 0)
			s.Fail(storagesim.Get, 500, "")
		}, []effect.Outcome{effect.Failed, effect.Failed, effect.Finished}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newBucketWorld(t, many(several, 1000))
			w.end()
			c.fault(w.sim)
			for _, outcome := range c.outcomes {
				report := w.attempt(outcome)
				if outcome == effect.Failed && strings.Contains(report.Cause.Error(), "secret-of-session") {
					t.Errorf("the URL of the upload is in %v", report.Cause)
				}
			}
			w.holds(several)
		})
	}
}

// TestResultsObjectKilled: a process that dies behind the upload leaves the object; its successor compares and finishes. One that
// dies, or is told to stop, in the middle leaves nothing that anybody sees.
func TestResultsObjectKilled(t *testing.T) {
	t.Parallel()
	w := newBucketWorld(t, many(several, 1000))
	w.end()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.sim.Before(storagesim.Chunk, cancel)
	report, err := w.process(w.store).Run(ctx, w.message())
	if err != nil || report.Outcome != effect.Failed || !errors.Is(report.Cause, context.Canceled) || len(w.sim.Names()) != 0 {
		t.Fatalf("stopped: %+v %v, %v", report, err, w.sim.Names())
	}
	w.store.Advance(ledger.DefaultSettings().ClaimTTL + time.Second)

	dying := &killable{Store: w.store}
	w.sim.Before(storagesim.Last, func() { dying.dead.Store(true) })
	if report, err := w.process(dying).Run(t.Context(), w.message()); err == nil {
		t.Fatalf("killed: %+v", report)
	}
	w.store.Advance(ledger.DefaultSettings().ClaimTTL + time.Second)
	w.log.Reset()
	w.attempt(effect.Finished)
	if object := w.holds(several); object.Metadata["opledger-fence"] != "2" || !strings.Contains(w.log.String(), "found=true items=700") {
		t.Errorf("%v, logged %s", object.Metadata, w.log)
	}
}

// TestResultsObjectZombie: an upload that stalls until its successor has finished makes nothing, and its worker cannot commit [S6].
func TestResultsObjectZombie(t *testing.T) {
	t.Parallel()
	w := newBucketWorld(t, many(several, 1000))
	w.end()
	stalled, awake := make(chan struct{}), make(chan struct{})
	w.sim.Before(storagesim.Last, func() {
		close(stalled)
		<-awake
	})
	zombie := make(chan effect.Outcome)
	go func() {
		report, err := w.process(w.store).Run(t.Context(), w.message())
		if err != nil {
			t.Errorf("the zombie: %v", err)
		}
		zombie <- report.Outcome
	}()
	<-stalled
	w.store.Advance(ledger.DefaultSettings().ClaimTTL + time.Second)
	w.attempt(effect.Finished)
	close(awake)
	if outcome := <-zombie; outcome != effect.LeaseLost {
		t.Errorf("the zombie: %s", outcome)
	}
	if object := w.holds(several); object.Metadata["opledger-fence"] != "2" {
		t.Errorf("%v", object.Metadata)
	}
}

// TestResultsObjectOfAnother: what somebody else wrote is not touched, nor what holds other bytes; a person is told what to do.
func TestResultsObjectOfAnother(t *testing.T) {
	t.Parallel()
	own := map[string]string{"opledger-idempotency-key": "gemini:batches/abc#publish"}
	for said, metadata := range map[string]map[string]string{
		"written by something else": {"opledger-idempotency-key": "gemini:batches/abc#other"},
		`-key: ""`:                  nil,
		"other bytes":               own,
	} {
		w := newBucketWorld(t, many(several, 1000))
		w.end()
		w.sim.Put(bucket, objectName, "theirs", metadata)
		report := w.attempt(effect.Died)
		if text := report.Cause.Error(); !strings.Contains(text, said) || !strings.Contains(text, "delete it, and replay") {
			t.Errorf("%v, want %s", report.Cause, said)
		}
		if object := w.sim.Object(bucket, objectName); string(object.Content) != "theirs" || object.Generation != 1 {
			t.Errorf("%+v", object)
		}
	}
}

// TestResultsObjectRefused: what a person can mend is tried again, not before Cloud Storage wishes; the rest is permanent.
func TestResultsObjectRefused(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]effect.Outcome{
		400: effect.Failed, 401: effect.Failed, 404: effect.Failed, 403: effect.Failed, 410: effect.Failed, 429: effect.Failed, 500: effect.Failed,
		405: effect.Died, 411: effect.Died, 413: effect.Died,
	} {
		w := newBucketWorld(t, many(3))
		w.end()
		w.sim.Fail(storagesim.Begin, status, "3000")
		report := w.attempt(want)
		if text := report.Cause.Error(); !strings.Contains(text, fmt.Sprintf("gs://%s/%s: Cloud Storage answered %d", bucket, objectName, status)) {
			t.Errorf("%d: %v", status, report.Cause)
		}
		if wish := 3000 * time.Second; want == effect.Failed && status != 403 && report.RetryAfter < wish {
			t.Errorf("%d: again after %s", status, report.RetryAfter)
		}
	}
	w := newBucketWorld(t, many(3))
	w.end()
	w.sim.Close()
	if report := w.attempt(effect.Failed); !strings.Contains(report.Cause.Error(), "connection refused") || strings.Contains(report.Cause.Error(), "/upload/") {
		t.Errorf("%v", report.Cause)
	}
}

// TestResultsObjectDownload: a download that breaks off is read on in the same upload; what never comes, or is lost, makes no
// object; and a result that is shorter than its batch is told aloud.
func TestResultsObjectDownload(t *testing.T) {
	t.Parallel()
	var times atomic.Int64
	w := newBucketWorld(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		whole := many(several, 1000)
		n := times.Add(1)
		if n > 2 {
			whole(out, r)
			return
		}
		out.Header().Set("Content-Length", "99999999")
		whole(&cut{ResponseWriter: out, left: int(n) * 250_000}, r)
	}))
	w.end()
	w.attempt(effect.Finished)
	if w.holds(several); times.Load() != 3 {
		t.Errorf("%d downloads", times.Load())
	}

	w = newBucketWorld(t, http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Length", "99999999")
		_, _ = io.WriteString(out, `{"key":"a","response":1}`+"\n")
	}))
	w.end()
	if w.attempt(effect.Failed); len(w.sim.Names()) != 0 {
		t.Errorf("%v", w.sim.Names())
	}

	var second atomic.Bool
	w = newBucketWorld(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if second.Swap(true) { // and there is less of it than was read before
			_, _ = io.WriteString(out, `{"key":"a","response":1}`+"\n")
			return
		}
		out.Header().Set("Content-Length", "99999999")
		many(several, 1000)(&cut{ResponseWriter: out, left: 250_000}, r)
	}))
	w.end()
	if report := w.attempt(effect.Failed); !strings.Contains(report.Cause.Error(), "the result ends before item") || len(w.sim.Names()) != 0 {
		t.Errorf("%v, %v", report.Cause, w.sim.Names())
	}

	w = newBucketWorld(t, http.NotFoundHandler())
	w.end()
	if report := w.attempt(effect.Died); !strings.Contains(report.Cause.Error(), "results lost") || len(w.sim.Names()) != 0 {
		t.Errorf("%v, %v", report.Cause, w.sim.Names())
	}

	w = newBucketWorld(t, many(3))
	w.result.Counts = &operation.Counts{Total: 4}
	w.end()
	w.attempt(effect.Finished)
	if said := w.log.String(); !strings.Contains(said, "event=alert reason=items-failed") || !strings.Contains(said, "done=3 total=4") {
		t.Errorf("%s", said)
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
