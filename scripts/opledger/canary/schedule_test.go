package canary

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/canary/googlesim"
)

// TestScheduleFindsItsOwnPass: a pass that was under way is not taken for the one of the run, and an
// error about one record is no pass.
func TestScheduleFindsItsOwnPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out := w.google.Output("x-reconcile")
	line := func(text string) {
		if _, err := fmt.Fprint(out, text); err != nil {
			t.Error(err)
		}
	}
	w.google.SetJob("r", "x-reconcile", googlesim.Job{Call: func(context.Context) int {
		line(`{"event":"reconcile","outcome":"pass","duration_ms":60000,"due":1}`)
		line(`{"event":"reconcile","outcome":"error","operation":"batches/a","error":"e"}`)
		line(`{"event":"reconcile","outcome":"pass","duration_ms":0,"due":2,"more":true}`)
		return http.StatusOK
	}})
	made := w.make(t.Context(), step{"schedule", w.schedule})
	if made.Error != "" || made.Counts["due"] != 2.0 || !strings.HasSuffix(made.Did[1], "due 2, more true") {
		t.Errorf("%+v", made)
	}
	w.now = w.now.Add(time.Hour)
	w.google.SetJob("r", "x-reconcile", googlesim.Job{Call: func(context.Context) int {
		line(`{"event":"reconcile","outcome":"error","error":"Firestore is away"}`)
		return http.StatusServiceUnavailable
	}})
	if made := w.fails(w.schedule); !strings.Contains(made.Error, "the pass could not read: Firestore is away") {
		t.Errorf("%+v", made)
	}
}

// TestScheduleOfANewJob: a job that was never run, and an attempt that has not ended, have -1 for a
// code. That is no outcome.
func TestScheduleOfANewJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	began, looked := make(chan struct{}), make(chan struct{})
	w.google.SetJob("r", "x-reconcile", googlesim.Job{Call: func(context.Context) int {
		close(began)
		<-looked
		_, err := fmt.Fprint(w.google.Output("x-reconcile"), `{"event":"reconcile","outcome":"pass","duration_ms":0,"due":2}`)
		if err != nil {
			t.Error(err)
		}
		return http.StatusOK
	}})
	seen := sync.OnceFunc(func() { close(looked) })
	defer seen()
	wait, looks := w.Wait, 0
	w.Wait = func(ctx context.Context, d time.Duration) error {
		<-began
		if looks++; looks == 2 { // the second look saw the attempt
			seen()
		}
		return wait(ctx, d)
	}
	if made := w.make(t.Context(), step{"schedule", w.schedule}); made.Error != "" || made.Counts["due"] != 2.0 {
		t.Errorf("%+v", made)
	}
}

// TestScheduleWithoutJob: a job that is not there says which flags name it, and one that makes no
// pass is given up after five minutes.
func TestScheduleWithoutJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if made := w.fails(w.schedule); !strings.Contains(made.Error, "there is no scheduler job projects/p/locations/r/jobs/"+
		"x-reconcile") || !strings.Contains(made.LookAt, "--region") {
		t.Errorf("%+v", made)
	}
	began := w.clock()
	w.google.SetJob("r", "x-reconcile", googlesim.Job{Call: func(context.Context) int { return http.StatusOK }})
	const says = "has logged no pass within 5m0s; no request reached it"
	if made := w.fails(w.schedule); !strings.Contains(made.Error, says) {
		t.Errorf("%+v", made)
	}
	if took := w.clock().Sub(began); took < passLimit-maxPause {
		t.Errorf("it looked for %v", took)
	}
}
