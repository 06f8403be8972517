package steps_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/job/steps"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

const first operation.Key = "jobs/nightly/00001"

// operator is the name under which decisions are recorded.
const operator = "ada"

// answers makes Gemini give one answer to every creation from now on.
func (w *world) answers(op geminisim.Op, status int, message string) {
	a := geminisim.ErrorAnswer(status, message)
	a.Times = -1
	w.sim.AnswerNext(op, "", a)
}

// TestQuotaForHours: what Gemini takes no batch for now counts no attempt and no failure, gives its slot back
// after ten minutes, and gets it again while no other job waits, says what it waits for, and is alerted once after
// six hours [J5].
func TestQuotaForHours(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	w.answers(geminisim.OpCreate, http.StatusTooManyRequests, "Resource has been exhausted (e.g. check quota).")
	w.submit(requests(4), job.Options{MaxAttempts: 1})
	w.drain()
	since := w.clock.Now()
	p := w.part(1)
	if running, err := w.ledger.Jobs.Running(t.Context()); err != nil || len(running.Parts) != 1 ||
		p.Waits != job.WaitsForQuota || !p.WaitsSince.Equal(since) {
		t.Errorf("%d run, waits for %s since %s, %v", len(running.Parts), p.Waits, p.WaitsSince, err)
	}
	w.later(interval)
	w.later(interval)
	if p := w.part(1); !p.SetAside() {
		t.Errorf("after ten minutes it is %+v", p)
	}
	w.later(interval)
	if p := w.part(1); p.SetAside() || !p.PlacedAt.Equal(w.clock.Now()) {
		t.Errorf("while no other job waits it is %+v", p)
	}
	var alerts []string
	for w.clock.Now().Before(since.Add(8 * time.Hour)) {
		w.later(interval)
		alerts = append(alerts, w.alerts()...)
	}
	e := w.effectOf(first, job.StepStart)
	if e.Attempts != 0 || e.Failing != nil || !slices.Equal(alerts, []string{"job-quota"}) {
		t.Errorf("%d attempts, failing %+v, alerts %v", e.Attempts, e.Failing, alerts)
	}
	if p := w.part(1); p.Creations < 10 || p.Declined != p.Creations || p.Round != 1 || len(p.Files) != 1 ||
		!p.WaitsSince.Equal(since) {
		t.Errorf("the part is %+v", p)
	}
	w.sim.ClearAnswers()
	if w.settle(); w.ended().Counts.Done != 4 {
		t.Errorf("the job counts %+v", w.job().Counts)
	}
}

// TestStorageQuota: a full storage at Gemini is a quota of its own, although its words are about billing and its wait
// is of centuries.
func TestStorageQuota(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{sim: geminisim.Config{Quotas: geminisim.Quotas{FileBytes: 10}}})
	w.submit(requests(4), job.Options{})
	w.drain()
	if p := w.part(1); p.Waits != job.WaitsForStorage || len(p.Files) > 0 || p.Creations > 0 {
		t.Errorf("it waits for %s, with %v", p.Waits, p.Files)
	}
	e := w.effectOf(first, job.StepStart)
	if wait := e.ClaimableAt.Sub(w.clock.Now()); wait != time.Minute || e.Failing != nil {
		t.Errorf("it is tried again after %s", wait)
	}
}

// TestBadKey: a key that Gemini refuses is alerted once, nothing is split or counted for it [J5], and the place among
// the batches that run is given back as after any other refusal.
func TestBadKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	w.answers(geminisim.OpCreate, http.StatusBadRequest, "API key not valid. Please pass a valid API key.")
	w.submit(requests(4), job.Options{})
	w.drain()
	for n := range 12 {
		w.later(interval)
		if p := w.part(1); n == 1 && !p.SetAside() {
			t.Errorf("after ten minutes it is %+v", p)
		}
	}
	if alerts := w.alerts(); !slices.Equal(alerts, []string{"job-denied"}) {
		t.Errorf("the alerts are %v", alerts)
	}
	p, e := w.part(1), w.effectOf(first, job.StepStart)
	if p.State != job.Starting || p.Waits != job.WaitsForAccess || p.Round != 1 || w.job().Parts != 1 ||
		e.Failing != nil || len(w.sim.Batches()) > 0 {
		t.Errorf("the part is %+v, failing %+v", p, e.Failing)
	}
	w.sim.ClearAnswers()
	w.settle()
	w.ended()
}

// TestGeminiDown: while Gemini fails a start is put off, ever longer up to five minutes. Six hours later that is
// alerted once, also where the reason was another one in between.
func TestGeminiDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	w.answers(geminisim.OpUpload, http.StatusInternalServerError, "An internal error has occurred.")
	w.submit(requests(4), job.Options{})
	w.drain()
	var waits []time.Duration
	for range 4 {
		e := w.effectOf(first, job.StepStart)
		waits = append(waits, e.ClaimableAt.Sub(w.clock.Now()))
		w.clock.Set(e.ClaimableAt)
		w.later(0)
	}
	w.later(time.Hour)
	e := w.effectOf(first, job.StepStart)
	waits = append(waits, e.ClaimableAt.Sub(w.clock.Now()))
	want := []time.Duration{10 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 5 * time.Minute}
	if p := w.part(1); !slices.Equal(waits, want) || p.Waits != job.WaitsForGemini || e.Failing != nil {
		t.Errorf("it waits %v, want %v: %s", waits, want, p.Waits)
	}
	w.sim.ClearAnswers()
	w.answers(geminisim.OpUpload, http.StatusTooManyRequests, "Resource has been exhausted.")
	w.later(time.Hour)
	w.sim.ClearAnswers()
	w.answers(geminisim.OpUpload, http.StatusRequestEntityTooLarge, "The file is too large.")
	for range 9 * time.Hour / interval {
		w.later(interval)
	}
	if alerts := w.alerts(); !slices.Equal(alerts, []string{"job-failing"}) {
		t.Errorf("the alerts are %v", alerts)
	}
}

// TestRegisteredWithoutID: a batch whose creation was not answered is found in Gemini's list, also where an
// operator has registered it without its id. No second one is created [J3].
func TestRegisteredWithoutID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{held: true})
	w.sim.ScriptPrefix("opledger:jobs/", geminisim.Script{Hold: geminisim.StateRunning})
	w.sim.AnswerNext(geminisim.OpCreate, "", geminisim.LostAnswer())
	w.submit(requests(4), job.Options{})
	w.drain()
	name, err := operation.ParseName(w.sim.Batches()[0].Name, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.ledger.Operations.Register(t.Context(), ledger.Registration{Name: name}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.later(interval)
	}
	if p := w.part(1); p.Batch != name.Key || p.Creations != 1 || len(w.sim.Batches()) != 1 {
		t.Errorf("the part is %+v, with %d batches", p, len(w.sim.Batches()))
	}
}

// TestFileExpired: requests whose file is gone, or soon will be, are uploaded again.
func TestFileExpired(t *testing.T) {
	t.Parallel()
	t.Run("soon", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, setting{})
		w.answers(geminisim.OpCreate, http.StatusTooManyRequests, "Resource has been exhausted.")
		w.submit(requests(4), job.Options{})
		w.drain()
		w.sim.ClearAnswers()
		w.later(47*time.Hour + time.Second)
		w.settle()
		if w.ended(); len(w.part(1).Files) != 2 || w.part(1).Creations != 2 {
			t.Errorf("the part is %+v", w.part(1))
		}
	})
	t.Run("deleted", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, setting{})
		w.answers(geminisim.OpCreate, http.StatusTooManyRequests, "Resource has been exhausted.")
		w.submit(requests(4), job.Options{})
		w.drain()
		w.sim.ClearAnswers()
		if err := w.options.Batches.DeleteFile(t.Context(), w.part(1).Files[0].Name); err != nil {
			t.Fatal(err)
		}
		w.settle()
		if w.ended(); len(w.part(1).Files) != 2 || w.part(1).Creations != 3 || len(w.alerts()) > 0 {
			t.Errorf("the part is %+v", w.part(1))
		}
	})
}

// TestFileNeverThere: where Gemini does not know the file that was just uploaded, the key is suspected.
func TestFileNeverThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	w.answers(geminisim.OpCreate, http.StatusForbidden,
		"You do not have permission to access the File abc or it may not exist.")
	w.submit(requests(4), job.Options{})
	w.drain()
	if p := w.part(1); p.Waits != job.WaitsForAccess || !slices.Equal(w.alerts(), []string{"job-denied"}) {
		t.Errorf("the part is %+v", p)
	}
}

// TestAmbiguousCreation: a creation whose answer is lost blocks its requests until Gemini's list has decided:
// what was created is collected, and what was not is created then, by itself [J3].
func TestAmbiguousCreation(t *testing.T) {
	t.Parallel()
	for name, happened := range map[string]bool{"created": true, "not created": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setting{})
			lost := geminisim.LostAnswer()
			lost.Perform = happened
			w.sim.AnswerNext(geminisim.OpCreate, "", lost)
			w.submit(requests(4), job.Options{MaxAttempts: 1})
			w.drain()
			for range 2 { // no time passes for Gemini's list
				w.clock.Advance(time.Minute)
				if _, err := w.run(t.Context(), w.options, ledger.Message{Operation: first, Effect: job.StepStart}); err != nil {
					t.Fatal(err)
				}
			}
			if p := w.part(1); p.Waits != job.WaitsForIntent || p.Creations != 1 {
				t.Errorf("the part is %+v", p)
			}
			w.settle()
			w.ended()
			want := 2
			if happened {
				want = 1
			}
			if made := len(w.sim.Batches()); made != 1 || w.part(1).Creations != want {
				t.Errorf("%d batches after %d creations", made, w.part(1).Creations)
			}
		})
	}
}

// TestCancelBeforeCreation: a job that is cancelled between upload and creation creates nothing, and deletes
// what it uploaded.
func TestCancelBeforeCreation(t *testing.T) {
	t.Parallel()
	var w *world
	w = newWorld(t, setting{transport: func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			answer, err := next.RoundTrip(r)
			if r.Header.Get("X-Goog-Upload-Command") == "upload, finalize" {
				w.cancel()
			}
			return answer, err
		})
	}})
	w.submit(requests(4), job.Options{})
	w.settle()
	if w.ended(); len(w.sim.Batches()) > 0 || w.job().Counts.Failed != 4 || w.part(1).State != job.Dropped {
		t.Errorf("%+v, %+v", w.job(), w.part(1))
	}
	if line := w.lineOf("k0001"); line.Why != "the job was cancelled" || line.Attempts != 0 {
		t.Errorf("the line is %+v", line)
	}
}

type roundTrip func(r *http.Request) (*http.Response, error)

func (t roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func (w *world) cancel() {
	w.Helper()
	why := ledger.Decision{By: operator, Why: "a wrong prompt"}
	if _, err := w.ledger.Jobs.Cancel(w.Context(), nightly, why); err != nil {
		w.Error(err)
	}
}

// TestTwin: of two batches of a part one is collected. The other is alerted and counted, and runs no effect [J2].
func TestTwin(t *testing.T) {
	t.Parallel()
	var w *world
	other := ""
	var cancelled []string
	w = newWorld(t, setting{transport: func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if name, ok := strings.CutSuffix(r.URL.Path, ":cancel"); ok {
				cancelled = append(cancelled, strings.TrimPrefix(name, "/v1beta/"))
			}
			answer, err := next.RoundTrip(r)
			if all := w.sim.Batches(); other == "" && len(all) == 2 { // an event about the other one comes first
				other = all[0].Name
				if all[0].Name == w.named(answer) {
					other = all[1].Name
				}
				w.deliver(other)
			}
			return answer, err
		})
	}, sim: geminisim.Config{Speed: 1e6, Faults: geminisim.Faults{CreatesTwice: 1}}})
	w.submit(requests(4), job.Options{MaxAttempts: 1})
	w.settle()
	j := w.ended()
	p, alerts := w.part(1), w.alerts()
	if j.Twins != 1 || string(p.Batch) != other || !slices.Equal(alerts, []string{"twin"}) {
		t.Errorf("the part is %+v, of %s", p, other)
	}
	if lines, _ := w.output(files.Results); len(lines) != 4 || w.sim.Sent("k0001") != 2 {
		t.Errorf("%d lines", len(lines))
	}
	if len(cancelled) != 1 || cancelled[0] == other {
		t.Errorf("Gemini was asked to cancel %v, and %s was collected", cancelled, other)
	}
}

// TestTwinLookedUp: a second batch of which an event said no id is counted and alerted by the look-up that says it,
// once [J2].
func TestTwinLookedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{held: true})
	w.sim.ScriptPrefix("opledger:jobs/", geminisim.Script{Hold: geminisim.StateRunning})
	w.submit(requests(4), job.Options{})
	w.drain()
	p := w.part(1)
	twin, err := w.options.Batches.Create(t.Context(), batches.Request{
		Model: "gemini-3.5-flash", File: p.Files[0].Name, CorrelationID: string(p.Key),
	})
	if err == nil {
		_, err = w.ledger.Operations.Ingest(t.Context(), operation.Event{
			Name: twin, DeliveryID: "without-id", Source: operation.Webhook, State: operation.Running, UpdateTime: w.clock.Now(),
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, _, err := w.passes.One(t.Context(), twin.Key); err != nil {
			t.Fatal(err)
		}
	}
	if alerts := w.alerts(); w.job().Twins != 1 || !slices.Equal(alerts, []string{"twin"}) {
		t.Errorf("%d twins, alerts %v", w.job().Twins, alerts)
	}
}

// TestNoKey: a process without a key leaves starts to others, and its starts are no failures.
func TestNoKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{options: func(o steps.Options) steps.Options {
		o.Batches = nil
		return o
	}})
	w.submit(requests(4), job.Options{})
	w.drain()
	e := w.effectOf(first, job.StepStart)
	if e.Failing != nil || e.Attempts != 0 || e.ClaimableAt.Sub(w.clock.Now()) != time.Minute {
		t.Errorf("the start is %+v", e)
	}
}
