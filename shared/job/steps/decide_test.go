package steps_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestCancelJob: a cancelled job starts nothing more, asks Gemini to cancel what runs, and keeps what is done:
// of a batch that succeeded all the same, and of one that was cancelled in the middle [J6].
func TestCancelJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{held: true, sim: geminisim.Config{Speed: 1e6}})
	w.sim.Script("opledger:"+string(first), geminisim.Script{
		Hold: geminisim.StateRunning, Faults: &geminisim.Faults{PartialCancelled: 1},
	})
	w.sim.Script("opledger:jobs/nightly/00002", geminisim.Script{
		Hold: geminisim.StateRunning, Faults: &geminisim.Faults{CancelsIgnored: 1},
	})
	w.submit(requests(120), job.Options{MaxRequestsPerBatch: 40, MaxBatches: 2})
	w.drain()
	w.cancel()
	w.drain()
	for n := 1; n <= 2; n++ {
		if rec := w.record(w.part(n).Batch); rec.CancelRequested == nil || rec.CancelRequested.By != operator {
			t.Errorf("who cancelled %s: %+v", rec.Key, rec.CancelRequested)
		}
	}
	if err := w.sim.SetState(string(w.part(2).Batch), geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
	rec := w.settle()
	j := w.ended()
	if rec.State != operation.Cancelled || w.part(3).State != job.Dropped || w.part(2).Counts.Done != 40 ||
		j.Counts.Done <= 40 || j.Counts.Done == 80 || len(w.sim.Batches()) != 2 {
		t.Errorf("%s, %+v", rec.State, j.Counts)
	}
	if alerts := w.alerts(); len(alerts) > 0 {
		t.Errorf("the alerts are %v", alerts)
	}
}

// TestCancelledElsewhere: a batch that another hand cancelled is collected, its other requests are sent again,
// and that is alerted once [J6].
func TestCancelledElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	w.sim.Script("opledger:"+string(first), geminisim.Script{
		Final: geminisim.StateCancelled, Faults: &geminisim.Faults{PartialCancelled: 1},
	})
	w.submit(requests(40), job.Options{})
	w.settle()
	if j := w.ended(); j.Counts.Done != 40 || j.Round != 2 || !slices.Equal(w.alerts(), []string{"batch-cancelled"}) {
		t.Errorf("round %d, %+v", j.Round, j.Counts)
	}
	if p := w.part(1); p.Counts.Done == 0 || p.Counts.Done == 40 {
		t.Errorf("the part is %+v", p)
	}
}

var stuck = ledger.Decision{By: operator, Why: "stuck for days"}

// TestRelease: a released batch is asked to cancel, and is never collected, also where it succeeds. Its requests are in
// another part, whose round counts it [J5, J6].
func TestRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{held: true})
	w.sim.Script("opledger:"+string(first), geminisim.Script{
		Hold: geminisim.StateRunning, Faults: &geminisim.Faults{CancelsIgnored: 1},
	})
	w.submit(requests(4), job.Options{MaxAttempts: 2})
	w.drain()
	late := w.release()
	if e := w.effectOf(first, job.StepCancel); e.State != ledger.EffectDone {
		t.Errorf("the cancellation is %s: %s", e.State, e.LastError)
	}
	if err := w.sim.SetState(string(late), geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
	w.held = false
	w.settle()
	j := w.ended()
	if p := w.part(1); p.State != job.Released || len(p.Final) > 0 || j.Counts.Done != 4 || w.part(2).Round != 2 ||
		w.effectOf(late, job.StepCollect).State != ledger.EffectDone {
		t.Errorf("the part is %+v, of %+v", p, j)
	}
	if line := w.lineOf("k0001"); line.Batch != w.part(2).Batch || line.Attempts != 2 {
		t.Errorf("the line is %+v", line)
	}
}

// release releases the first part, and returns its batch.
func (w *world) release() operation.Key {
	w.Helper()
	late := w.part(1).Batch
	if _, err := w.ledger.Jobs.Release(w.Context(), first, stuck); err != nil {
		w.Fatal(err)
	}
	w.drain()
	return late
}

// TestReleaseUnknown: a released batch that Gemini does not know any more is waited for until look-ups, too, have not
// found it for an hour [J6].
func TestReleaseUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{held: true})
	w.sim.Script("opledger:"+string(first), geminisim.Script{Hold: geminisim.StateRunning})
	w.submit(requests(4), job.Options{})
	w.drain()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/v1beta/"+string(w.part(1).Batch), http.NoBody)
	r.Header.Set("X-Goog-Api-Key", "key")
	w.sim.ServeHTTP(httptest.NewRecorder(), r)
	late := w.release()
	for range time.Hour / interval {
		w.later(interval)
	}
	if rec, e := w.record(late), w.effectOf(first, job.StepCancel); rec.Abandoned != nil || e.Failing != nil {
		t.Errorf("it is abandoned %+v, and its cancellation failing %+v", rec.Abandoned, e.Failing)
	}
	for range 3 {
		w.later(interval)
	}
	rec, e := w.record(late), w.effectOf(first, job.StepCancel)
	if rec.Abandoned == nil || rec.Abandoned.By != operator || e.State != ledger.EffectDone {
		t.Errorf("it is abandoned %+v, and its cancellation %s", rec.Abandoned, e.State)
	}
	w.held = false
	w.settle()
	if j := w.ended(); j.Counts.Done != 4 || j.Twins != 1 {
		t.Errorf("%+v, %d twins", j.Counts, j.Twins)
	}
}

// TestReleaseBeforeItIsStepped: a batch that was released is not collected, although its job has not advanced
// since [J6].
func TestReleaseBeforeItIsStepped(t *testing.T) {
	t.Parallel()
	var dead atomic.Bool
	w := newWorld(t, setting{worker: func(s ledger.Store) ledger.Store { return noAdvance{s, &dead} }})
	batch := w.started(requests(4), job.Options{})
	dead.Store(true)
	_, err := w.options.Ledger.Jobs.Release(t.Context(), first, stuck)
	if err == nil {
		t.Fatal("the process lives")
	}
	if p := w.part(1); p.Released == nil || p.State != job.Started {
		t.Fatalf("the part is %+v", p)
	}
	dead.Store(false)
	w.outbox.Drain()
	if _, err := w.run(t.Context(), w.options, ledger.Message{Operation: batch, Effect: job.StepCollect}); err != nil {
		t.Fatal(err)
	}
	if p := w.part(1); p.State != job.Released || len(p.Final) > 0 {
		t.Errorf("the part is %+v", p)
	}
	w.settle()
	w.ended()
}

// A noAdvance store fails the commits of a job while it is dead.
type noAdvance struct {
	ledger.Store
	dead *atomic.Bool
}

func (s noAdvance) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	for _, write := range writes {
		if _, isJob := write.Data.(job.Job); isJob && s.dead.Load() {
			return nil, errCut
		}
	}
	return s.Store.Commit(ctx, writes...)
}

// TestStopAfter: a job with too many failures starts nothing more, and ends once what runs has ended.
func TestStopAfter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{sim: geminisim.Config{Faults: geminisim.Faults{RefusedItems: 1}}})
	w.submit(requests(40), job.Options{MaxRequestsPerBatch: 10, MaxBatches: 1, StopAfter: "15"})
	rec := w.settle()
	j := w.ended()
	if rec.State != operation.Failed || j.Counts.Refused != 20 || j.Counts.Failed != 20 || len(w.sim.Batches()) != 2 {
		t.Errorf("%s, %+v after %d batches", rec.State, j.Counts, len(w.sim.Batches()))
	}
	line := w.lineOf("k0039")
	if !strings.Contains(line.Why, "20 requests were not done, more than 15") || line.Attempts != 0 {
		t.Errorf("the line is %+v", line)
	}
}

// TestFewWritesOfTheJob: a hundred batches that end together are consumed in few commits, and meanwhile the
// results that are final are there.
func TestFewWritesOfTheJob(t *testing.T) {
	t.Parallel()
	var writes atomic.Int64
	w := newWorld(t, setting{worker: func(s ledger.Store) ledger.Store { return countingJobs{s, &writes} }})
	w.submit(requests(80), job.Options{MaxRequestsPerBatch: 1, MaxBatches: 100})
	w.drain()
	w.learn()
	writes.Store(0)
	messages := w.outbox.Drain()
	done := make(chan error)
	for _, m := range messages { // as many workers collect at once
		go func() {
			report, err := w.run(t.Context(), w.options, m)
			if err == nil {
				err = report.FollowErr
			}
			if err == nil && report.Cause != nil {
				err = fmt.Errorf("%s: %w", report.Outcome, report.Cause)
			}
			done <- err
		}()
	}
	for range messages {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := writes.Load(); len(messages) != 80 || n > 40 {
		t.Errorf("%d collects wrote the job %d times", len(messages), n)
	}
	if lines, _ := w.output(files.Results); len(lines) != 80 {
		t.Errorf("%d lines are final", len(lines))
	}
	w.settle()
	w.ended()
}

// A countingJobs store counts the writes of jobs.
type countingJobs struct {
	ledger.Store
	writes *atomic.Int64
}

func (s countingJobs) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	for _, write := range writes {
		if _, isJob := write.Data.(job.Job); isJob {
			s.writes.Add(1)
		}
	}
	return s.Store.Commit(ctx, writes...)
}
