package steps_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// finishing runs a job until nothing but its finish is left.
func (w *world) finishing(lines []string, options job.Options) {
	w.Helper()
	w.submit(lines, options)
	for w.job().Phase != job.Finishing {
		for _, m := range w.outbox.Drain() {
			if m.Effect == job.StepFinish {
				continue
			}
			if _, err := w.run(w.Context(), w.options, m); err != nil {
				w.Fatal(err)
			}
		}
		w.learn()
	}
}

// TestAllRefused: a job of which Gemini refuses every batch ends FAILED in Gemini's words, with a line for each
// request, and after a bounded number of creations [J5].
func TestAllRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	w.answers(geminisim.OpCreate, 400, "Request contains an invalid argument.")
	w.submit(requests(40), job.Options{MaxRequestsPerBatch: 20})
	rec := w.settle()
	j := w.ended()
	if rec.State != operation.Failed || !strings.Contains(rec.Result.ErrorMessage, "Gemini refused every batch") ||
		!strings.Contains(rec.Result.ErrorMessage, "Request contains an invalid argument.") || j.Counts.Failed != 40 ||
		j.Batches != 0 {
		t.Errorf("%s: %s, %+v", rec.State, rec.Result.ErrorMessage, j)
	}
	if made := w.sim.Stats().Creates; made != 22 {
		t.Errorf("%d creations", made)
	}
	line := w.lineOf("k0001")
	if line.Attempts != 0 || line.Batch != "" || !strings.Contains(line.Why, "invalid argument") {
		t.Errorf("the line is %+v", line)
	}
}

// TestPiecesOfManyObjects: a refused part whose requests are in many objects has at most ten pieces, too.
func TestPiecesOfManyObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{sim: geminisim.Config{Poison: "About k0033"}})
	w.sim.ScriptPrefix("opledger:"+string(nightly), geminisim.Script{Faults: &geminisim.Faults{}})
	for n := 1; n <= 40; n++ {
		w.sim.Script("opledger:"+string(operation.PartKey(nightly, n)), geminisim.Script{Final: geminisim.StateExpired})
	}
	w.submit(requests(80), job.Options{MaxRequestsPerBatch: 2, MaxBatches: 100, MaxAttempts: 3})
	w.settle()
	if j := w.ended(); j.Counts.Done != 79 || j.Counts.Failed != 1 {
		t.Errorf("the job counts %+v", j.Counts)
	}
}

// TestFinishAgain: a finish that follows one which died behind its merge takes the object that is there; one
// that was not made of the job's parts stops it [J7, J8].
func TestFinishAgain(t *testing.T) {
	t.Parallel()
	t.Run("merged", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, setting{})
		w.finishing(requests(4), job.Options{MaxRequestsPerBatch: 2})
		var parts []storage.Object
		for _, p := range w.parts() {
			parts = append(parts, storage.Object(p.Final[0]))
		}
		if _, err := w.kept.Compose(t.Context(), files.Output(w.job(), files.Results), parts); err != nil {
			t.Fatal(err)
		}
		w.settle()
		w.ended()
	})
	t.Run("another", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, setting{})
		w.finishing(requests(4), job.Options{})
		if _, err := w.kept.Create(t.Context(), files.Output(w.job(), files.Results), strings.NewReader("{}\n")); err != nil {
			t.Fatal(err)
		}
		w.drainOrLater()
		e := w.effectOf(nightly, job.StepFinish)
		if e.State != ledger.EffectDead || !strings.Contains(e.LastError, "was not made of") {
			t.Errorf("the finish is %s: %s", e.State, e.LastError)
		}
	})
}

func (w *world) drainOrLater() {
	w.Helper()
	w.drain()
	w.later(interval)
}

// TestDoesNotAddUp: a job whose parts do not have each request once does not end [J7].
func TestDoesNotAddUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{worker: func(s ledger.Store) ledger.Store { return miscounted{s} }})
	w.finishing(requests(4), job.Options{})
	w.drainOrLater()
	e := w.effectOf(nightly, job.StepFinish)
	if e.State != ledger.EffectDead || !strings.Contains(e.LastError, "3 of 4 requests have an outcome") {
		t.Errorf("the finish is %s: %s", e.State, e.LastError)
	}
	if w.record(nightly).Settled() {
		t.Error("the job has ended")
	}
}

// A miscounted store loses one of what a collect counts.
type miscounted struct{ ledger.Store }

func (s miscounted) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	for i, write := range writes {
		if p, isPart := write.Data.(job.Part); isPart && p.State == job.Collected {
			p.Counts.Done--
			writes[i].Data = p
		}
	}
	return s.Store.Commit(ctx, writes...)
}

// TestOtherStorage: a worker without job storage, or with another one, leaves a job's steps to others, and that
// is no failure.
func TestOtherStorage(t *testing.T) {
	t.Parallel()
	other, err := storage.Open(filepath.Join(t.TempDir(), "others"), "")
	if err != nil {
		t.Fatal(err)
	}
	for name, has := range map[string]storage.Storage{"none": nil, "another": other} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setting{})
			for _, step := range []struct {
				effect string
				of     func() operation.Key
			}{
				{job.StepSplit, func() operation.Key {
					w.submit(requests(2), job.Options{})
					return nightly
				}},
				{job.StepStart, func() operation.Key { return first }},
				{job.StepCollect, func() operation.Key {
					w.learn()
					return w.part(1).Batch
				}},
				{job.StepFinish, func() operation.Key { return nightly }},
			} {
				key := step.of()
				w.outbox.Drain()
				theirs := w.options
				theirs.Storage = has
				m := ledger.Message{Operation: key, Effect: step.effect}
				if _, err := w.run(t.Context(), theirs, m); err != nil {
					t.Fatal(err)
				}
				if e := w.effectOf(key, step.effect); e.Failing != nil || e.Attempts != 0 || e.State != ledger.EffectPending {
					t.Errorf("%s is %+v", step.effect, e)
				}
				w.clock.Advance(time.Minute)
				if _, err := w.run(t.Context(), w.options, m); err != nil {
					t.Fatal(err)
				}
			}
			w.settle()
			w.ended()
		})
	}
}

// TestHeldLeft: a pass drops what is listed as held and is not: a job that has ended, and one that was deleted.
func TestHeldLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	w.submit(requests(1), job.Options{})
	w.settle()
	at := ledger.Path(ledger.PassesCollection + "/batches")
	read, err := w.stored.Get(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	running, err := w.ledger.Jobs.Running(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hold := job.Hold{Reason: job.HeldByPilot, Decided: operation.Decided{At: w.clock.Now(), By: "opledger", Why: "a test"}}
	running.Held = map[string]job.Hold{"jobs:nightly": hold, "jobs:deleted": hold}
	if _, err := w.stored.Commit(t.Context(), ledger.Write{
		Path: at, Token: read.Documents[0].Token, Data: running,
	}); err != nil {
		t.Fatal(err)
	}
	w.later(interval)
	if running, err = w.ledger.Jobs.Running(t.Context()); err != nil || len(running.Held) > 0 {
		t.Errorf("%+v, %v", running.Held, err)
	}
}
