package steps_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestDeadline: a pass finds that a job's deadline is past. What was about to start is not, what runs is cancelled, a
// batch that succeeds first is collected, and the job ends with that [J12].
func TestDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{held: true, sim: geminisim.Config{Speed: 1e6}})
	w.sim.ScriptPrefix("opledger:", geminisim.Script{Hold: geminisim.StateRunning})
	w.sim.Script("opledger:"+string(first), geminisim.Script{
		Hold: geminisim.StateRunning, Faults: &geminisim.Faults{CancelsIgnored: 1},
	})
	deadline := w.clock.Now().Add(time.Hour)
	w.submit(requests(8), job.Options{MaxRequestsPerBatch: 2, MaxBatches: 3, Deadline: deadline})
	w.drain()
	for w.clock.Now().Before(deadline) {
		w.later(interval)
	}
	if err := w.sim.SetState(string(w.part(1).Batch), geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
	rec, j := w.settle(), w.ended()
	if len(w.sim.Batches()) != 3 || j.DeadlineReached.IsZero() || j.Counts.Done != 2 || w.part(4).State != job.Dropped ||
		rec.State != operation.Failed || !strings.Contains(rec.Result.ErrorMessage, "the deadline ") {
		t.Errorf("%s: %s, %+v, %d batches", rec.State, rec.Result.ErrorMessage, j.Counts, len(w.sim.Batches()))
	}
	if by := w.record(w.part(2).Batch).CancelRequested; by == nil || !strings.Contains(by.Why, "the deadline") {
		t.Errorf("who cancelled it: %+v", by)
	}
	if alerts := w.alerts(); len(alerts) != 1 || alerts[0] != "job-deadline" {
		t.Errorf("%v", alerts)
	}
}

// TestDeadlineStart: a start that is put off over the deadline creates nothing behind it.
func TestDeadlineStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{held: true})
	w.submit(requests(2), job.Options{MaxRequestsPerBatch: 2, Deadline: w.clock.Now().Add(time.Hour)})
	for range 4 {
		w.sim.AnswerNext(geminisim.OpCreate, "", geminisim.ErrorAnswer(429, "slow down"))
	}
	w.drain()
	w.clock.Advance(time.Hour)
	w.drain() // the start alone: no pass has seen the deadline
	for range 3 {
		w.later(interval)
	}
	if j := w.job(); len(w.sim.Batches()) > 0 || j.Phase != job.Ended || j.Counts.Failed != 2 {
		t.Errorf("%+v, %d batches", j, len(w.sim.Batches()))
	}
}

// TestHeldWhileUploading: what is paused, or meets its deadline, while the requests of its batch are uploaded has none
// created [J11, J12].
func TestHeldWhileUploading(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(*world)
		waits     job.Wait
	}{
		"paused": {func(w *world) {
			if _, err := w.ledger.Jobs.Pause(w.Context(), nightly, stuck); err != nil {
				w.Error(err)
			}
		}, job.WaitsForResume},
		"late": {func(w *world) { w.clock.Advance(time.Hour) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w *world
			w = newWorld(t, setting{transport: func(next http.RoundTripper) http.RoundTripper {
				return roundTrip(func(r *http.Request) (*http.Response, error) {
					answer, err := next.RoundTrip(r)
					if r.Header.Get("X-Goog-Upload-Command") == "upload, finalize" {
						c.meanwhile(w)
					}
					return answer, err
				})
			}})
			w.submit(requests(4), job.Options{Deadline: w.clock.Now().Add(time.Hour)})
			w.drain()
			if p := w.part(1); len(w.sim.Batches()) > 0 || len(p.Files) != 1 || p.Waits != c.waits {
				t.Errorf("%d batches, %+v", len(w.sim.Batches()), p)
			}
		})
	}
}

// TestCancelAfter: a batch that runs for longer than it may is cancelled, what it did is collected, and the rest is
// sent again. No alert says that another hand has cancelled it.
func TestCancelAfter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{held: true, sim: geminisim.Config{Speed: 1e6}})
	w.sim.Script("opledger:"+string(first), geminisim.Script{
		Hold: geminisim.StateRunning, Faults: &geminisim.Faults{PartialCancelled: 1},
	})
	w.submit(requests(40), job.Options{CancelAfterSeconds: 3600})
	w.drain()
	none := int64(0) // which is of batches that are started later
	if _, err := w.ledger.Jobs.Change(t.Context(), nightly, job.Limits{CancelAfterSeconds: &none}, ledger.Decision{
		By: "ada", Why: "a test",
	}); err != nil {
		t.Fatal(err)
	}
	for range 13 {
		w.later(interval)
	}
	w.held = false
	w.settle()
	if j := w.ended(); j.Counts.Done != 40 || j.Round != 2 || len(w.sim.Batches()) != 2 {
		t.Errorf("round %d, %+v", j.Round, j.Counts)
	}
	const why = "this batch of jobs/nightly may run for 1h0m0s"
	if by := w.record(w.part(1).Batch).CancelRequested; by == nil || by.Why != why {
		t.Errorf("who cancelled it: %+v", by)
	}
	if p := w.part(2); !p.CancelAt.IsZero() {
		t.Errorf("the second may run for %v", p.CancelAt.Sub(p.StartedAt))
	}
	if p, alerts := w.part(1), w.alerts(); len(alerts) > 0 || p.Counts.Done == 0 || p.Counts.Done == 40 {
		t.Errorf("%+v, %v", p, alerts)
	}
}
