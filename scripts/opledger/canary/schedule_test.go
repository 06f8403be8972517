package canary

import (
	"context"
	"fmt"
	"net/http"
	"strings"
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
	if made := w.fails(w.schedule); !strings.Contains(made.Error, "the pass could read nothing: Firestore is away") {
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
