package steps_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/job/steps"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/harness"
)

// A result of 20 GB, at a two-thousandth of its size: 2,000 lines of 5 kB, or 1,400 outside of the gate, of which each
// attempt has the time to read 2 MB behind those that are stored, in objects of 32 kB.
const (
	largeLines  = 2_000
	largeLine   = 5_000
	attemptRead = 2_000_000
	largeChunk  = 32_000
)

// A largeResult is a download of long lines that calls over once it has handed out so many bytes.
type largeResult struct {
	io.Closer
	from *bufio.Reader // of short lines
	line []byte        // what is left of the long one
	left int
	over func()
	seen func(n int)
}

func (r *largeResult) Read(p []byte) (int, error) {
	if len(r.line) == 0 {
		short, err := r.from.ReadBytes('\n')
		if err != nil {
			return 0, err
		}
		filler := []byte("Result of " + strings.Repeat("x", largeLine-len(short)-len("Result of ")) + " and Result of ")
		r.line = bytes.Replace(short, []byte("Result of "), filler, 1)
	}
	n := copy(p, r.line)
	r.line = r.line[n:]
	r.seen(n)
	if r.left -= n; r.left <= 0 {
		r.over()
	}
	return n, nil
}

// TestCollectLarge: a result for which one attempt has not the time is collected over several, which are told to stop.
// Each goes on behind what is stored, and none holds more of it in memory.
func TestCollectLarge(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	read, least, most := 0, uint64(0), uint64(0)
	lines := largeLines
	if !harness.Thorough(t) {
		lines = 1_400
	}
	attempts := collectLarge(t, lines, -1, func(n int) {
		if read += n; read%(1<<20) >= n {
			return
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if least == 0 {
			least = m.HeapAlloc
		}
		most = max(most, m.HeapAlloc)
	})
	if grown := int64(most) - int64(least); grown > 4<<20 { //nolint:gosec // of this process
		t.Errorf("the memory grew by %d bytes while %d attempts read a result of %d", grown, attempts, lines*largeLine)
	} else {
		t.Logf("%d attempts read %d MB; the memory grew by %d kB at most", attempts, read/1_000_000, grown/1_000)
	}
}

// TestCollectTimeOver: an attempt whose time is over leaves what it stored to the next, which reads the rest.
func TestCollectTimeOver(t *testing.T) {
	t.Parallel() // it waits for that
	collectLarge(t, largeLines*9/20, 1, func(int) {})
}

// collectLarge collects a result of so many lines, calls seen with the bytes of each read, and returns how many
// attempts that took. They are told to stop, but for one of this number, whose time is over.
func collectLarge(t *testing.T, lines, timed int, seen func(n int)) (attempts int) {
	t.Helper()
	var over func(items context.Context)
	share := 0 // what this attempt can read
	w := newWorld(t, setting{
		sim:     geminisim.Config{Folder: t.TempDir()},
		options: func(o steps.Options) steps.Options { return o.InChunks(largeChunk) },
		transport: func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				answer, err := next.RoundTrip(r)
				if err == nil && strings.HasSuffix(r.URL.Path, ":download") {
					answer.ContentLength = -1
					answer.Body = &largeResult{
						Closer: answer.Body, from: bufio.NewReader(answer.Body), left: share, seen: seen,
						over: func() { over(r.Context()) },
					}
				}
				return answer, err
			})
		},
	})
	w.started(requests(lines), job.Options{MaxRequestsPerBatch: int64(lines)})
	collect := ledger.Message{Operation: w.part(1).Batch, Effect: job.StepCollect}
	stored := 0
	for outcome := effect.Continued; outcome == effect.Continued; attempts++ {
		if attempts == 20 {
			t.Fatalf("after %d attempts the part is %+v", attempts, w.part(1))
		}
		share += attemptRead
		outcome = w.largeAttempt(collect, attempts == timed, &over)
		p := w.part(1)
		if outcome == effect.Continued && (len(p.Final) <= stored || p.State != job.Started) {
			t.Errorf("attempt %d stored nothing: %d objects, then %d", attempts+1, stored, len(p.Final))
		}
		stored = len(p.Final)
		w.outbox.Drain()
	}
	if least := lines * largeLine / attemptRead; attempts < least || w.part(1).State != job.Collected &&
		w.part(1).State != job.Consumed {
		t.Errorf("after %d attempts, of at least %d, the part is %s", attempts, least, w.part(1).State)
	}
	for _, object := range w.part(1).Final {
		if object.Size > largeChunk+2*largeLine {
			t.Errorf("%s has %d bytes", object.Name, object.Size)
		}
	}
	w.settle()
	if j := w.ended(); j.Counts.Done != int64(lines) || j.Output.Results.Size < int64(lines*largeLine) {
		t.Errorf("the job has %+v, and %d bytes", j.Counts, j.Output.Results.Size)
	}
	if p := w.part(1); len(files.Objects(p, files.Results)) < 4*lines*largeLine/largeChunk/5 {
		t.Errorf("%d objects have the result", len(p.Final))
	}
	return attempts
}

// largeAttempt runs one attempt at a collect. It is told to stop, or its time is over, once its share was read.
func (w *world) largeAttempt(collect ledger.Message, timed bool, over *func(context.Context)) effect.Outcome {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	told, stop := context.WithCancel(ctx)
	defer stop()
	*over = func(context.Context) { stop() }
	if timed {
		ctx, cancel = context.WithTimeout(ctx, 4*time.Second)
		defer cancel()
		*over = func(items context.Context) { <-items.Done() }
	}
	report, err := w.run(effect.WithStop(ctx, told), w.options, collect)
	if err != nil || report.Outcome != effect.Continued && report.Outcome != effect.Finished {
		w.Fatalf("the attempt ended as %+v, %v", report, err)
	}
	return report.Outcome
}
