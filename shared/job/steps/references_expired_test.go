package steps_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/steps"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// while has every look-up of a file or a cache do something before it is answered.
func while(do func()) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v1beta/files/") {
				do()
			}
			return next.RoundTrip(r)
		})
	}
}

// TestReferencesExpireWhileStarting: what has expired while Gemini took no batch is looked up again before anything
// ends for it, and the job is held for all that was not sent: also for what is still starting [J15]. It makes no
// difference whether the worker's clock is behind the ledger's.
func TestReferencesExpireWhileStarting(t *testing.T) {
	t.Parallel()
	for name, behind := range map[string]time.Duration{"one clock": 0, "a clock that is behind": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setting{options: func(o steps.Options) steps.Options {
				now := o.Now
				o.Now = func() time.Time { return now().Add(-behind) }
				return o
			}})
			file := w.uploaded("a book")
			w.submit([]string{naming("a", file, ""), naming("b", file, ""), requestOf("c")},
				job.Options{MaxRequestsPerBatch: 1, MaxFailures: "1"})
			for range 3 {
				w.sim.AnswerNext(geminisim.OpCreate, "", geminisim.ErrorAnswer(429, "slow down"))
			}
			w.drain()
			w.clock.Advance(48 * time.Hour)
			if _, err := w.passes.Pass(t.Context()); err != nil {
				t.Fatal(err)
			}
			second := operation.PartKey(nightly, 2)
			for messages := w.outbox.Drain(); len(messages) > 0; messages = w.outbox.Drain() {
				for _, m := range messages {
					if m.Operation != second || m.Effect != job.StepStart {
						if err := w.handle(t.Context(), m); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			if p, j := w.part(2), w.job(); p.State != job.Starting || j.Hold == nil || j.Parts != 4 ||
				!strings.HasPrefix(j.Hold.Why, "2 of 3 requests name") || j.Counts.Refused > 0 || w.sim.Sent("a") > 0 {
				t.Fatalf("%s, %+v, %d parts, %+v", p.State, j.Hold, j.Parts, j.Counts)
			}
			if err := w.ledger.Jobs.Resume(t.Context(), nightly, stuck); err != nil {
				t.Fatal(err)
			}
			w.settle()
			if j := w.ended(); j.Counts != (job.Counts{Done: 1, Refused: 2}) || w.sim.Sent("a")+w.sim.Sent("b") > 0 {
				t.Errorf("%+v", j.Counts)
			}
		})
	}
}

// TestReferencesExpireWhilePaused: what was found before a job was paused, and has expired when it goes on, is looked
// up again, and the job held for it: nothing is sent, and nothing has ended [J15].
func TestReferencesExpireWhilePaused(t *testing.T) {
	t.Parallel()
	var w *world
	var once sync.Once
	w = newWorld(t, setting{transport: while(func() {
		once.Do(func() {
			if _, err := w.ledger.Jobs.Pause(w.Context(), nightly, stuck); err != nil {
				w.Error(err)
			}
		})
	})})
	file := w.uploaded("a book")
	w.submit([]string{naming("a", file, "")}, job.Options{})
	w.drain()
	w.clock.Advance(48 * time.Hour)
	if err := w.ledger.Jobs.Resume(t.Context(), nightly, stuck); err != nil {
		t.Fatal(err)
	}
	w.drain()
	j, sent := w.job(), len(w.sim.Batches())
	if j.Hold == nil || j.Hold.Reason != job.HeldByReferences || j.Counts.Refused > 0 || sent > 0 {
		t.Errorf("%+v, %+v", j.Hold, j.Counts)
	}
}

// TestReferencesPast: a file that Gemini has is there, whatever time it says that it was to expire, and is not looked
// up before each batch for that [J15].
func TestReferencesPast(t *testing.T) {
	t.Parallel()
	asks := &lookUps{}
	w := newWorld(t, setting{transport: asks.through})
	file := w.uploaded("a book")
	past := `{"name":"` + file + `","expirationTime":"2026-11-23T19:59:59Z"}`
	w.sim.AnswerNext(geminisim.OpFileGet, file, geminisim.Answer{Body: []byte(past), Times: -1})
	w.submit([]string{naming("a", file, ""), naming("b", file, "")}, job.Options{MaxRequestsPerBatch: 1})
	w.settle()
	if j, asked := w.ended(), asks.taken(); j.Counts.Done != 2 || asked[file] != 1 {
		t.Errorf("%+v, looked up %d times", j.Counts, asked[file])
	}
}

// TestReferencesCountedOnce: requests that are given to a part while their references are looked up count once, as
// what they were before or are now [J15].
func TestReferencesCountedOnce(t *testing.T) {
	t.Parallel()
	var w *world
	armed := false
	w = newWorld(t, setting{held: true, transport: while(func() {
		if armed {
			w.clock.Advance(time.Minute)
			if _, err := w.ledger.Jobs.Advance(w.Context(), nightly); err != nil {
				w.Error(err)
			}
		}
	})})
	w.sim.Script("opledger:"+string(first), geminisim.Script{
		Hold: geminisim.StateRunning, Faults: &geminisim.Faults{ItemErrors: 0.5},
	})
	file := w.uploaded("a book")
	var lines []string
	for _, line := range requests(20) {
		key := strings.SplitN(line, `"`, 5)[3]
		lines = append(lines, naming(key, file, ""))
	}
	w.submit(lines, job.Options{MaxRequestsPerBatch: 10, MaxBatches: 1})
	w.drain()
	w.clock.Advance(48 * time.Hour)
	w.sim.AnswerNext(geminisim.OpFileGet, file, geminisim.ErrorAnswer(503, "later"))
	if err := w.sim.SetState(w.sim.Batches()[0].Name, geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
	w.learn()
	w.drain()
	waiting := w.job().Waiting
	if len(waiting) != 1 {
		t.Fatalf("%+v", waiting)
	}
	armed = true
	w.later(59*time.Minute + 30*time.Second)
	if j, again := w.job(), w.part(3); again.Requests != waiting[0].Requests || j.References.Open != 10+again.Requests {
		t.Errorf("%d requests name it, with %d again", j.References.Open, again.Requests)
	}
}

// TestReferencesTimeOver: an attempt whose time does not reach for all look-ups leaves the rest to the next one, and
// has not failed; one that brought nothing has.
func TestReferencesTimeOver(t *testing.T) {
	t.Parallel()
	for each, want := range map[int][]effect.Outcome{
		3: {effect.Continued, effect.Continued, effect.Finished}, 0: {effect.Failed},
	} {
		asks := &lookUps{}
		w := newWorld(t, setting{transport: asks.through})
		var lines []string
		for i := range 7 {
			lines = append(lines, naming(fmt.Sprint("k", i), w.uploaded(fmt.Sprint("book ", i)), ""))
		}
		w.submit(lines, job.Options{})
		within, cancel := context.WithTimeout(t.Context(), time.Hour) // far longer than all this takes
		defer cancel()
		for messages := w.outbox.Drain(); len(messages) > 0; messages = w.outbox.Drain() {
			w.options = w.options.WithLookUps(rate.NewLimiter(rate.Every(1000*time.Hour), each))
			for _, m := range messages {
				if err := w.handle(within, m); err != nil {
					t.Fatal(err)
				}
			}
		}
		var outcomes []effect.Outcome
		for _, r := range w.reports {
			if r.Lease.Effect == job.StepReferences {
				outcomes = append(outcomes, r.Outcome)
			}
			if r.Cause != nil && strings.Count(r.Cause.Error(), "the attempt's time was over") > 1 {
				t.Errorf("it says itself twice: %v", r.Cause)
			}
		}
		if !slices.Equal(outcomes, want) {
			t.Errorf("%v, want %v: %+v", outcomes, want, w.reports)
		}
		if e := w.effectOf(first, job.StepReferences); e.Attempts != 1 {
			t.Errorf("%d attempts", e.Attempts)
		}
		for name, times := range asks.taken() {
			if times > 1 {
				t.Errorf("%s was looked up %d times", name, times)
			}
		}
	}
}

// TestReferencesTimeOverAtStart: a start whose time does not reach for its look-ups, by this process's own limit, is
// put off: it does not wait for Gemini, has not failed, and refuses nothing before they are made [J15].
func TestReferencesTimeOverAtStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	file := w.uploaded("a book")
	w.clock.Advance(48 * time.Hour)
	w.submit([]string{naming("a", file, ""), requestOf("b")}, job.Options{MaxFailures: "1"})
	free := w.options
	for messages := w.outbox.Drain(); len(messages) > 0; messages = w.outbox.Drain() {
		for _, m := range messages {
			if w.options = free; m.Effect == job.StepStart {
				w.options = free.WithLookUps(rate.NewLimiter(0, 0))
			}
			if err := w.handle(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.options = free
	p, e := w.part(1), w.effectOf(first, job.StepStart)
	if p.State != job.Starting || p.Waits != "" || e.State != ledger.EffectPending || e.Failing != nil {
		t.Errorf("%s, waits for %q; its start is %s, failing %+v", p.State, p.Waits, e.State, e.Failing)
	}
	w.settle()
	if j := w.ended(); j.Counts != (job.Counts{Done: 1, Refused: 1}) {
		t.Errorf("%+v", j.Counts)
	}
}

// TestReferencesLimit: the steps of one process that look references up share one limit.
func TestReferencesLimit(t *testing.T) {
	t.Parallel()
	of := steps.Handlers(steps.Options{})
	if l := steps.LookUps(of[job.StepReferences]); l == nil || l != steps.LookUps(of[job.StepStart]) {
		t.Error("each has a limit of its own")
	}
}
