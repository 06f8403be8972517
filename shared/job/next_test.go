package job_test

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

func TestNext(t *testing.T) {
	seeds := uint64(300)
	if !harness.Thorough(t) {
		seeds = 104 // each size twice in each case
	}
	for seed := range seeds {
		size := int64(1 + seed%13)
		w := newWorld(t, seed, int64(1+seed%97), job.Options{MaxRequestsPerBatch: size, Pilot: int64(seed/4) % (size + 1)})
		switch seed % 4 {
		case 1:
			w.bad[int64(seed)%w.job.Input.Requests] = true
		case 2:
			for range 5 {
				w.advance()
				w.play()
			}
			w.job.Cancelled = &operation.Decided{By: "operator", Why: "test"}
		case 3:
			for r := range w.job.Input.Requests {
				w.bad[r] = true
			}
		}
		w.run()
		failed := seed%4 == 3 && w.job.Options.Pilot > 0 && w.parts[0].Requests < w.job.Input.Requests
		if w.holds > 1 || failed != (w.holds == 1) && seed%4 != 1 && seed%4 != 2 {
			t.Errorf("seed %d: it was held %d times", seed, w.holds)
		}
		if seed%4 == 0 && len(w.final) != int(w.job.Input.Requests) {
			t.Errorf("seed %d: %d of %d requests are final", seed, len(w.final), w.job.Input.Requests)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// What all batches are refused for is not in the requests, so that they are not split down to each [J5].
func TestNextRefusesAlike(t *testing.T) {
	w := newWorld(t, 1, 1000, job.Options{MaxRequestsPerBatch: 100})
	for r := range w.job.Input.Requests {
		w.bad[r] = true
	}
	w.run()
	if made := w.job.Parts; made > 10+10*10 {
		t.Errorf("%d parts were made", made)
	}
	if state, why := withNotDone(w.job, 1000).Verdict(); state != operation.Failed || why == "" {
		t.Errorf("%s, %q", state, why)
	}
}

// One request that Gemini refuses costs its neighbours nothing.
func TestNextFindsTheBadRequest(t *testing.T) {
	w := newWorld(t, 1, 1000, job.Options{MaxRequestsPerBatch: 100})
	w.bad[777] = true
	w.run()
	if len(w.final) != 999 || w.final[777] {
		t.Errorf("%d requests are final, want all but one", len(w.final))
	}
}

// A hundred batches that end together are one step [J2].
func TestNextConsumesTogether(t *testing.T) {
	w := newWorld(t, 1, 100, job.Options{MaxRequestsPerBatch: 1, MaxAttempts: 1})
	for i := range w.parts {
		w.final[int64(i)] = true
		w.parts[i].State, w.parts[i].Counts.Done = job.Collected, 1
	}
	w.advance()
	if w.steps != 1 || w.job.Counts.Done != 100 || w.job.Phase != job.Finishing {
		t.Errorf("%d steps, %d done, %s", w.steps, w.job.Counts.Done, w.job.Phase)
	}
}

// Open requests wait for others, but not longer than an hour while other batches run.
func TestNextGathers(t *testing.T) {
	w := newWorld(t, 1, 4, job.Options{MaxRequestsPerBatch: 2})
	w.advance()
	w.objects["again-1"] = []int64{0}
	w.parts[0].State, w.parts[0].Again = job.Collected, []job.Source{{Object: "again-1", Length: 1, Requests: 1}}
	w.final[1] = true
	w.advance()
	if len(w.parts) != 2 || len(w.job.Waiting) != 1 {
		t.Fatalf("%d parts, %d waiting", len(w.parts), len(w.job.Waiting))
	}
	w.now = w.now.Add(time.Hour - time.Second)
	if w.advance(); len(w.parts) != 2 {
		t.Fatal("it did not wait for an hour")
	}
	w.now = w.now.Add(time.Second)
	if w.advance(); len(w.parts) != 3 || w.parts[2].Round != 2 {
		t.Fatalf("after an hour: %+v", w.parts)
	}
}

// A released batch is given up, and its requests go into a new part with a new intent [J6].
func TestNextReleases(t *testing.T) {
	for state, batch := range map[job.State]operation.Key{job.Started: "batches/a", job.Starting: ""} {
		w := newWorld(t, 1, 1, job.Options{})
		w.advance()
		w.parts[0].State, w.parts[0].Batch = state, batch
		w.parts[0].Released = &operation.Decided{By: "operator", Why: "Gemini does not know it"}
		w.advance()
		old, young := w.parts[0], w.parts[1]
		if old.State != job.Released || old.CancelPlanned != (batch != "") || young.State != job.Starting ||
			young.Round != 2 || w.job.Twins != 1 {
			t.Errorf("%s: %+v\n%+v, %d twins", state, old, young, w.job.Twins)
		}
	}
}

// A job that has too many failures starts nothing more, and finishes what runs.
func TestNextStops(t *testing.T) {
	w := newWorld(t, 1, 10, job.Options{MaxRequestsPerBatch: 1, MaxBatches: 1, StopAfter: "1"})
	w.job.Counts.Failed = 2
	w.advance()
	if w.job.Phase != job.Finishing || w.job.Stopped == "" || w.parts[0].State != job.Dropped {
		t.Errorf("%s, stopped %q, %s", w.job.Phase, w.job.Stopped, w.parts[0].State)
	}
}

// TestNextHeld: a job that is held starts nothing, consumes what was collected, and waits with what is open; once
// nothing is open it ends all the same [J11].
func TestNextHeld(t *testing.T) {
	j := job.Job{
		Key: "jobs/nightly", Phase: job.Running, Options: job.Options{}.WithDefaults(), Parts: 2, Round: 1,
		Input: job.Input{Requests: 20}, Hold: &job.Hold{Reason: job.HeldByOperator},
	}
	open := []job.Part{
		{Key: "jobs/nightly/00001", Number: 1, Round: 1, State: job.Collected},
		{Key: "jobs/nightly/00002", Number: 2, Round: 1, State: job.Planned},
	}
	step := job.Next(midnight, j, open, false, room(10))
	if len(step.Start) > 0 || step.Wants.For != "" || step.Finish || step.Job.Batches != 1 {
		t.Errorf("%+v", step)
	}
	if step = job.Next(midnight, j, open[:1], false, room(10)); !step.Finish {
		t.Errorf("nothing is open: %+v", step)
	}
	j.Hold = nil
	if step = job.Next(midnight, j, open, false, room(10)); len(step.Start) != 1 {
		t.Errorf("resumed: %+v", step)
	}
}
