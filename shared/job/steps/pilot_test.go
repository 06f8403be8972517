package steps_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestPilot: of a job whose every answer is wrong only the pilot is sent, as often as any request is; an alert says so
// once, with the first failures beside it. Once it is resumed all is sent [J13].
func TestPilot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{sim: geminisim.Config{Faults: geminisim.Faults{BadJSON: 1}}})
	w.submit(requests(40), job.Options{
		MaxRequestsPerBatch: 10, MaxAttempts: 2, Validate: "json", RetryOn: []string{"invalid"}, Pilot: 7,
	})
	w.drain()
	for range 5 {
		w.learn()
		w.later(interval)
	}
	j := w.job()
	if j.Hold == nil || j.Hold.Reason != job.HeldByPilot || !strings.Contains(j.Hold.Why, "7 of the pilot's 7 requests") {
		t.Fatalf("it is not held: %+v", j)
	}
	var held []string
	for _, line := range w.log.Drain(t) {
		if line["reason"] == "job-held" {
			held = append(held, line["why"].(string))
		}
	}
	if len(held) != 1 || held[0] != j.Hold.Why {
		t.Errorf("alerts: %v", held)
	}
	if n := len(w.sim.Batches()); n != 2 || j.Counts.Invalid != 7 {
		t.Errorf("%d batches, %+v", n, j.Counts)
	}
	if f := j.Failures; len(f) != job.MostFailures || f[0].Outcome != job.OutcomeInvalid || f[0].Why == "" ||
		!strings.HasPrefix(f[0].Key, "k000") {
		t.Errorf("%+v", f)
	}
	if err := w.ledger.Jobs.Resume(t.Context(), nightly, ledger.Decision{By: "ada", Why: "a test"}); err != nil {
		t.Fatal(err)
	}
	if rec := w.settle(); rec.State != operation.Failed || w.ended().Counts.Invalid != 40 {
		t.Errorf("%s, %+v", rec.State, w.job().Counts)
	}
}

// TestPilotRefused: of a job whose requests Gemini refuses as a whole no more than the pilot and its pieces is sent,
// and the failures are counted although they are final only with the job [J13].
func TestPilotRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	w.answers(geminisim.OpCreate, 400, "Request contains an invalid argument.")
	w.submit(requests(200), job.Options{MaxRequestsPerBatch: 20, Pilot: 20})
	w.drain()
	w.later(interval)
	j := w.job()
	if j.Hold == nil || !strings.Contains(j.Hold.Why, "20 of the pilot's 20 requests") ||
		!strings.Contains(j.Refusal, "invalid argument") {
		t.Fatalf("it is not held: %+v", j)
	}
	if made := w.sim.Stats().Creates; made != 11 {
		t.Errorf("%d creations", made)
	}
	if _, err := w.ledger.Jobs.Cancel(t.Context(), nightly, ledger.Decision{By: "ada", Why: "a test"}); err != nil {
		t.Fatal(err)
	}
	if rec := w.settle(); rec.State != operation.Cancelled || w.ended().Counts.Failed != 200 {
		t.Errorf("%s, %+v", rec.State, w.job().Counts)
	}
}
