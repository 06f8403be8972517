package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

const nightly operation.Key = "jobs/nightly"

// submitJob submits a job of one request.
func (w *world) submitJob() {
	w.Helper()
	_, err := w.ledger.Jobs.Submit(w.Context(), ledger.JobRequest{
		Key: nightly, Options: job.Options{Model: "gemini-3.5-flash"}, Storage: "gs://bucket",
		Input: job.Input{SHA256: "0a1b", Bytes: 1, Requests: 1, Object: "nightly/input"},
	})
	w.must(err)
}

// cutJob performs the job's split, and dies before it advances the job.
func (w *world) cutJob() {
	w.Helper()
	grant, err := w.ledger.Effects.Claim(w.Context(), nightly, job.StepSplit)
	w.must(err)
	j, err := w.ledger.Jobs.Read(w.Context(), nightly)
	w.must(err)
	all := []job.Source{{Object: "nightly/input", Length: 1, Requests: 1}}
	_, err = w.ledger.Jobs.Cut(w.Context(), grant.Lease, j, all, true)
	w.must(err)
	w.must(w.ledger.Effects.Finish(w.Context(), grant.Lease))
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// TestLookUpJob: a pass takes the step that a worker made possible before it died, at every interval and
// without a request to Gemini [J2, R6].
func TestLookUpJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submitJob()
	w.clock.Advance(grace)
	w.pass(reconcile.Summary{Due: 1, Checked: 1, Running: 1, EffectsRequeued: 1}) // its split
	w.cutJob()
	w.clock.Advance(interval)
	w.pass(reconcile.Summary{Due: 1, Checked: 1, Running: 1})
	part, _, err := w.ledger.Jobs.Part(t.Context(), operation.PartKey(nightly, 1))
	if err != nil || part.State != job.Starting {
		t.Errorf("the part is %s, %v", part.State, err)
	}
	if asked := w.lookups(); len(asked) > 0 {
		t.Errorf("Gemini was asked: %v", asked)
	}
}

// TestJobStuck: a job is stuck, and late, once it has taken no step for a day, however long it is
// pending [R4].
func TestJobStuck(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, setting{alerts: true})
	w.submitJob()
	w.clock.Advance(23 * time.Hour)
	w.cutJob()
	for _, step := range []struct{ wait, since time.Duration }{
		{2 * time.Hour, 2 * time.Hour}, {23 * time.Hour, 23 * time.Hour},
		{time.Hour + time.Second, 24*time.Hour + time.Second},
	} {
		w.clock.Advance(step.wait)
		w.passWith(reconcile.Options{})
		alerts := 0
		for _, m := range w.outbox.Drain() {
			if m.Operation == nightly && strings.Contains(m.Effect, "@stuck-") {
				alerts++
			}
		}
		rec, err := w.ledger.Operations.Read(t.Context(), nightly)
		w.must(err)
		late := rec.Late(w.clock.Now())
		if want := step.since > 24*time.Hour; (alerts == 1) != want || late != want {
			t.Errorf("%d alerts, late %v, %v after a step", alerts, late, step.since)
		}
	}
}

// TestAdoptNoPart: the batch of a job that is forgotten is not adopted, and is no error [J3].
func TestAdoptNoPart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	part := w.submit("opledger:jobs/nightly/00001", geminisim.StateRunning)
	if got := w.passWith(reconcile.Options{Adopt: true}); got != (reconcile.Summary{}) {
		t.Errorf("the pass says %+v", got)
	}
	w.isNotRegistered("the batch of a part", part)
}
