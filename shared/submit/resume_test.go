package submit_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/submit"
)

// TestAgain: the same id again is the same operation, without a request to Gemini [G6].
func TestAgain(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, w *world, k kind) {
		job := operation.Submission{CorrelationID: "c"}
		first, err := k.submit(w, job)
		if err != nil {
			t.Fatal(err)
		}
		requests := w.sim.Stats().APIRequests
		again, err := k.submit(w, job)
		if err != nil || !again.Known || again.Name != string(first.Registered.Record.Key) || again.CorrelationID != "c" {
			t.Errorf("%+v, %v", again, err)
		}
		if n := w.sim.Stats().APIRequests; n != requests {
			t.Errorf("%d requests were sent", n-requests)
		}
	})
}

// TestAgainAfterALostAnswer: a pass finds the batch in the list, whatever the order, and registers it;
// what cannot be listed is not submitted twice [G6].
func TestAgainAfterALostAnswer(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, w *world, k kind) {
		job := operation.Submission{CorrelationID: "c", JobKind: "nightly"}
		w.sim.AnswerNext(k.create, "", geminisim.LostAnswer())
		_, err := k.submit(w, job)
		w.wantError(err, submit.ErrUnanswered)
		for i := range 120 { // it is not on the first page
			if _, err := kinds[0].submit(w, operation.Submission{CorrelationID: fmt.Sprintf("other-%d", i)}); err != nil {
				t.Fatal(err)
			}
		}
		w.clock.Advance(time.Hour)
		w.pass()
		creates := w.sim.Stats().Creates
		got, err := k.submit(w, job)
		if n := w.sim.Stats().Creates; n != creates {
			t.Errorf("%d operations were submitted", n-creates)
		}
		if k.collection != operation.Batches {
			w.wantError(err, submit.ErrUncertain)
			if !got.WaitUntil.IsZero() {
				t.Errorf("time decides nothing, and it says %v", got.WaitUntil)
			}
			w.wantIntent("c")
			return
		}
		if err != nil || !got.Known || got.Name != w.sim.Batches()[0].Name {
			t.Errorf("%+v, %v", got, err)
		}
		w.wantIntent("")
	})
}

// TestAgainWhereNothingWasSubmitted: a batch is submitted after a pass that did not find it some
// minutes after its intent, not before: the run that recorded it may still be submitting [G6].
func TestAgainWhereNothingWasSubmitted(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, w *world, k kind) {
		w.died("c", k)
		for _, d := range []time.Duration{0, 5*time.Minute - time.Second} {
			w.clock.Advance(d)
			w.pass()
			got, err := k.submit(w, operation.Submission{CorrelationID: "c"})
			w.wantError(err, submit.ErrUncertain)
			if got.CorrelationID != "c" || got.WaitUntil.IsZero() == (k.collection == operation.Batches) {
				t.Errorf("%+v", got)
			}
		}
		w.clock.Advance(time.Second)
		w.pass()
		got, err := k.submit(w, operation.Submission{CorrelationID: "c"})
		if k.collection != operation.Batches {
			w.wantError(err, submit.ErrUncertain)
			if n := w.sim.Stats().Creates; n != 0 {
				t.Errorf("%d were submitted", n)
			}
			return
		}
		if err != nil || got.Known || len(w.sim.Batches()) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
		w.wantRegistered(got.Name)
	})
}

// TestAgainWithoutTheList: nothing is submitted while it is not known what an earlier run did.
func TestAgainWithoutTheList(t *testing.T) {
	t.Parallel()
	w, k := newWorld(t), kinds[0]
	w.died("c", k)
	w.clock.Advance(time.Hour)
	w.sim.AnswerNext(geminisim.OpList, "", geminisim.ErrorAnswer(503, "down"))
	w.pass()
	_, err := k.submit(w, operation.Submission{CorrelationID: "c"})
	w.wantError(err, submit.ErrUncertain)
	if !strings.Contains(err.Error(), "try again after 2026-11-21T03:05:00Z") {
		t.Error(err)
	}
	if n := w.sim.Stats().Creates; n != 0 {
		t.Errorf("%d were submitted", n)
	}
}

// TestAgainAtOnce: of two concurrent first runs with one id one submits; the other gets
// ErrUncertain.
func TestAgainAtOnce(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, w *world, k kind) {
		const runs = 4
		errs := make(chan error, runs)
		for range runs {
			go func() {
				_, err := k.submit(w, operation.Submission{CorrelationID: "c"})
				errs <- err
			}()
		}
		for range runs {
			if err := <-errs; err != nil {
				w.wantError(err, submit.ErrUncertain)
			}
		}
		if n := w.sim.Stats().Creates; n != 1 {
			t.Errorf("%d were submitted", n)
		}
	})
}

// died does what a run does that crashes after its intent.
func (w *world) died(id string, k kind) {
	w.t.Helper()
	_, err := w.ledger.Intents.Intend(w.t.Context(), ledger.Intention{
		Submission: operation.Submission{CorrelationID: id}, Collection: k.collection,
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestAgainAfterARunThatStartedAgain: the third run waits for the second run's batch, which
// Gemini's list may not have at once [G6].
func TestAgainAfterARunThatStartedAgain(t *testing.T) {
	t.Parallel()
	w, k, job := newWorld(t), kinds[0], operation.Submission{CorrelationID: "c"}
	w.died("c", k)
	w.clock.Advance(6 * time.Minute)
	w.pass()
	w.sim.AnswerNext(k.create, "", geminisim.LostAnswer())
	_, err := k.submit(w, job)
	w.wantError(err, submit.ErrUnanswered)

	w.sim.AnswerNext(geminisim.OpList, "", geminisim.Answer{Body: []byte(`{}`), Times: 2 * 3})
	for _, d := range []time.Duration{time.Minute + 30*time.Second, 3 * time.Minute} {
		w.clock.Advance(d)
		w.pass()
		_, err = k.submit(w, job)
		w.wantError(err, submit.ErrUncertain)
	}
	w.clock.Advance(time.Minute)
	w.pass()
	got, err := k.submit(w, job)
	if err != nil || !got.Known {
		t.Errorf("%+v, %v", got, err)
	}
	if n := w.sim.Stats().Creates; n != 1 {
		t.Errorf("%d were submitted", n)
	}
}

// TestAgainAfterItWasGivenUp: a run that reuses an abandoned intent is as visible as a first one
// [G6].
func TestAgainAfterItWasGivenUp(t *testing.T) {
	t.Parallel()
	w, k, job := newWorld(t), kinds[0], operation.Submission{CorrelationID: "c"}
	w.died("c", k)
	w.clock.Advance(ledger.DefaultSettings().StuckAfter + time.Hour)
	w.pass()
	w.wantIntent("")

	w.registrar.intend = ledger.ErrUnavailable
	_, err := k.submit(w, job)
	w.wantError(err, ledger.ErrUnavailable)
	if n := w.sim.Stats().Creates; n != 0 {
		t.Errorf("%d were submitted without an intent that is looked for", n)
	}
	w.registrar.intend = nil
	w.sim.AnswerNext(k.create, "", geminisim.LostAnswer())
	_, err = k.submit(w, job)
	w.wantError(err, submit.ErrUnanswered)
	w.wantIntent("c")

	// What is refused on the way leaves nothing either.
	w.died("d", k)
	w.clock.Advance(6 * time.Minute)
	w.pass()
	w.sim.AnswerNext(k.create, "", geminisim.ErrorAnswer(http.StatusForbidden, "no"))
	_, err = k.submit(w, operation.Submission{CorrelationID: "d"})
	w.wantError(err, submit.ErrRefused)
	w.wantIntent("")
}

// TestKilledAtEachPoint: a run is killed before and after each of its requests, and before it sees an
// answer. The runs after it, and passes, end with one batch that is registered, and no operator [G6].
func TestKilledAtEachPoint(t *testing.T) {
	t.Parallel()
	for _, point := range []string{
		"before the intent", "before the intent's answer", "before the creation", "before the creation's answer",
		"503 before the creation", "503 after it", "429", "400", "429, before the withdrawal",
		"before the registration", "before the registration's answer",
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w, k, job := newWorld(t), kinds[0], operation.Submission{CorrelationID: "c"}
			w.registrar.dies = point
			first := func() {
				defer func() {
					if dead := recover(); dead != nil && dead != errKilled {
						panic(dead)
					}
				}()
				answer, at := geminisim.Answer{}, true
				switch point {
				case "before the creation", "503 before the creation":
					answer = geminisim.ErrorAnswer(http.StatusServiceUnavailable, "away")
				case "before the creation's answer", "503 after it":
					answer = geminisim.LostAnswer()
				case "429", "429, before the withdrawal":
					answer = geminisim.ErrorAnswer(http.StatusTooManyRequests, "slow down")
				case "400":
					answer = geminisim.ErrorAnswer(http.StatusBadRequest, "no")
				default:
					at = false
				}
				if at {
					w.sim.AnswerNext(k.create, "", answer)
				}
				_, err := k.submit(w, job)
				if at && err == nil {
					t.Error("the run did not end")
				}
			}
			first()
			w.registrar.dies = ""
			for range 4 { // a process is started again, and a pass comes, every five minutes
				if got, err := k.submit(w, job); err == nil {
					if n := len(w.sim.Batches()); n != 1 || w.sim.Batches()[0].Name != got.Name {
						t.Errorf("%+v, and Gemini has %+v", got, w.sim.Batches())
					}
					w.wantRegistered(got.Name)
					w.wantIntent("")
					return
				} else if !errors.Is(err, submit.ErrUncertain) {
					t.Fatal(err)
				}
				w.clock.Advance(5 * time.Minute)
				w.pass()
			}
			t.Error("four runs did not get through")
		})
	}
}
