package infra_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
)

// ofJob returns a situation of a job that was split. Each step is a message to Effects.
func ofJob(name string, provoke func(w *world), want ...string) situation {
	return situation{"jobs: " + name, func(w *world) {
		w.hasJob()
		w.forget()
		provoke(w)
	}, append([]string{"effects"}, want...)}
}

// hasLateJob is hasJob with a deadline that has passed, which nothing has found yet.
func (w *world) hasLateJob() {
	w.Helper()
	w.hasJob()
	w.forget()
	at := w.clock.Now().Add(10 * time.Minute)
	_, err := w.ledger.Jobs.Change(w.Context(), theJob, job.Limits{Deadline: &at}, ledger.Decision{By: "a", Why: "b"})
	if err != nil {
		w.Fatal(err)
	}
	w.clock.Advance(20 * time.Minute)
}

var ofJobs = []situation{
	ofJob("a batch that starts, ends and is collected", func(w *world) {
		w.startedAndEnded(geminisim.StateSucceeded)
		w.step(job.StepCollect, nil)
	}),
	ofJob("Gemini refuses the key", func(w *world) {
		w.step(job.StepStart, refusing("/upload/", http.StatusForbidden, "PERMISSION_DENIED"))
	}, "jobs"),
	ofJob("Gemini takes no further batch for a while", func(w *world) {
		m := w.step(job.StepStart, refusing(":batchGenerateContent", http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"))
		w.clock.Advance(time.Hour)
		w.again(m, refusing(":batchGenerateContent", http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"))
	}),
	ofJob("Gemini takes no further batch for six hours", func(w *world) {
		m := w.step(job.StepStart, refusing(":batchGenerateContent", http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"))
		w.clock.Advance(6 * time.Hour)
		w.again(m, refusing(":batchGenerateContent", http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"))
	}, "jobs"),
	ofJob("Gemini's storage is full for six hours", func(w *world) {
		full := refusing("/upload/", http.StatusTooManyRequests, "RESOURCE_EXHAUSTED of file_storage_bytes")
		m := w.step(job.StepStart, full)
		w.clock.Advance(6 * time.Hour)
		w.again(m, full)
	}, "jobs"),
	{"jobs: others have all batches for six hours", func(w *world) {
		w.allTaken()
		w.hasJob()
		w.forget()
		w.clock.Advance(6 * time.Hour)
		w.allTaken()
		w.pass(nil)
	}, []string{"jobs", "overdue", "passes"}},
	{"jobs: another has all tokens of the model for six hours", func(w *world) {
		w.hasJob()
		w.submittedJob("jobs/second", 1, job.Options{})
		w.step(job.StepSplit, nil)
		w.forget()
		w.clock.Advance(6 * time.Hour)
		w.pass(nil)
	}, []string{"jobs", "overdue", "passes"}},
	ofJob("an upload is refused for six hours", func(w *world) {
		m := w.step(job.StepStart, refusing("/upload/", http.StatusRequestEntityTooLarge, "INVALID_ARGUMENT"))
		w.clock.Advance(6 * time.Hour)
		w.again(m, refusing("/upload/", http.StatusRequestEntityTooLarge, "INVALID_ARGUMENT"))
	}, "jobs"),
	ofJob("a part has a second batch", func(w *world) {
		w.step(job.StepStart, w.createdTwice())
	}, "jobs"),
	ofJob("a delivery brings a second batch of a part", func(w *world) {
		w.startedAndEnded(geminisim.StateSucceeded)
		w.delivered("twin", `{"type":"batch.succeeded","data":{"id":"`+w.batch("another", geminisim.StateRunning).Resource+
			`","user_metadata":{"opledger_correlation_id":"`+string(thePart)+`"}}}`)
	}, "arrivals", "deliveries", "jobs", "unmatched"),
	ofJob("a pass finds a second batch of a part", func(w *world) {
		w.step(job.StepStart, nil)
		w.batch("opledger:"+string(thePart), geminisim.StateRunning)
		w.pass(nil)
	}, "jobs", "passes"),
	ofJob("Gemini has had no result for a day", func(w *world) {
		w.startedAndEnded(geminisim.StateSucceeded)
		gone := refusing(":download", http.StatusNotFound, "NOT_FOUND")
		m := w.step(job.StepCollect, gone)
		w.clock.Advance(24 * time.Hour)
		w.again(m, gone)
	}, "effects-failing", "jobs"),
	ofJob("a line of a result answers no request", func(w *world) {
		w.sim.Close()
		w.sim = geminisim.New(geminisim.Config{Now: w.clock.Now, Faults: geminisim.Faults{ForeignLines: 1}})
		w.startedAndEnded(geminisim.StateSucceeded)
		w.step(job.StepCollect, nil)
	}, "jobs"),
	{"jobs: a pass finds that a deadline is reached", func(w *world) {
		w.hasLateJob()
		w.pass(nil)
	}, []string{"jobs", "passes"}},
	{"jobs: who pauses one finds that its deadline is reached", func(w *world) {
		w.hasLateJob()
		asked := httptest.NewRequestWithContext(w.Context(), http.MethodPost, "/"+string(theJob)+":pause",
			strings.NewReader(`{"by":"ann","why":"is it right?"}`))
		w.register().ServeHTTP(httptest.NewRecorder(), asked)
	}, []string{"jobs"}},
	{"jobs: its pilot has failed", func(w *world) {
		w.sim.Close()
		w.sim = geminisim.New(geminisim.Config{Now: w.clock.Now, Faults: geminisim.Faults{Blocked: 1}})
		w.hasJobOf(2, job.Options{Pilot: 1})
		w.forget()
		w.startedAndEnded(geminisim.StateSucceeded)
		w.step(job.StepCollect, nil)
		w.clock.Advance(15 * time.Minute)
		w.pass(nil)
	}, []string{"effects", "jobs", "passes"}},
	ofJob("a batch is cancelled elsewhere", func(w *world) {
		w.startedAndEnded(geminisim.StateCancelled)
		w.step(job.StepCollect, nil)
	}, "jobs"),
}
