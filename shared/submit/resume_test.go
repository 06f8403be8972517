package submit_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/submit"
)

// TestAgain: the same id again is the same operation, without a request to Gemini [G6].
func TestAgain(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, w *world, k kind) {
		job := submit.Job{CorrelationID: "c"}
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

// TestAgainAfterALostAnswer: a batch is found in the list, whatever the order, and registered as of
// when it was created; what cannot be listed is not submitted twice [G6].
func TestAgainAfterALostAnswer(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, w *world, k kind) {
		job := submit.Job{CorrelationID: "c", JobKind: "nightly"}
		w.sim.AnswerNext(k.create, "", geminisim.LostAnswer())
		_, err := k.submit(w, job)
		w.wantError(err, submit.ErrUnanswered)
		for i := range 120 { // it is not on the first page
			if _, err := kinds[0].submit(w, submit.Job{CorrelationID: fmt.Sprintf("other-%d", i)}); err != nil {
				t.Fatal(err)
			}
		}
		submittedAt := w.clock.Now()
		w.clock.Advance(time.Hour)
		creates := w.sim.Stats().Creates
		got, err := k.submit(w, submit.Job{CorrelationID: "c"})
		if n := w.sim.Stats().Creates; n != creates {
			t.Errorf("%d operations were submitted", n-creates)
		}
		if k.collection != operation.Batches {
			w.wantError(err, submit.ErrUncertain)
			w.wantIntent("c")
			return
		}
		r := got.Registered.Record
		if err != nil || !got.Known || got.Name != w.sim.Batches()[0].Name || r.JobKind != "nightly" ||
			!r.SubmittedAt.Equal(submittedAt) {
			t.Errorf("%+v, %v", got, err)
		}
		w.wantIntent("")
	})
}

// TestAgainWhereNothingWasSubmitted: a batch is submitted some minutes after its intent, not
// before: the run that recorded it may still be submitting.
func TestAgainWhereNothingWasSubmitted(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, w *world, k kind) {
		job := submit.Job{CorrelationID: "c"}
		if _, err := w.ledger.Intend(t.Context(), ledger.Intention{CorrelationID: "c"}); err != nil {
			t.Fatal(err)
		}
		for _, d := range []time.Duration{0, 5*time.Minute - time.Second} {
			w.clock.Advance(d)
			got, err := k.submit(w, job)
			w.wantError(err, submit.ErrUncertain)
			if got.CorrelationID != "c" {
				t.Errorf("%+v", got)
			}
		}
		w.clock.Advance(time.Second)
		got, err := k.submit(w, job)
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
	if _, err := w.ledger.Intend(t.Context(), ledger.Intention{CorrelationID: "c"}); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Hour)
	w.sim.AnswerNext(geminisim.OpList, "", geminisim.ErrorAnswer(503, "down"))
	if _, err := k.submit(w, submit.Job{CorrelationID: "c"}); err == nil || !strings.Contains(err.Error(), "503") {
		t.Error(err)
	}
	w.sim.AnswerNext(
		geminisim.OpList, "", geminisim.Answer{Body: []byte(`{"operations":[],"nextPageToken":"again"}`), Times: -1},
	)
	_, err := k.submit(w, submit.Job{CorrelationID: "c"})
	w.wantError(err, submit.ErrUncertain)
	if n := w.sim.Stats().BatchLists; n != 51 {
		t.Errorf("%d pages were read", n)
	}
	w.registrar.now = ledger.ErrUnavailable
	_, err = k.submit(w, submit.Job{CorrelationID: "c"})
	w.wantError(err, ledger.ErrUnavailable)
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
				_, err := k.submit(w, submit.Job{CorrelationID: "c"})
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

// TestOddEntryInTheList: an entry with the id but without a batch's name does not hide the one that
// has both [R6].
func TestOddEntryInTheList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.ledger.Intend(t.Context(), ledger.Intention{CorrelationID: "c"}); err != nil {
		t.Fatal(err)
	}
	w.sim.AnswerNext(geminisim.OpList, "", geminisim.Answer{Body: []byte(
		`{"operations":[{"name":"jobs/x","metadata":{"displayName":"opledger:c"}},` +
			`{"name":"batches/a","metadata":{"displayName":"my job opledger:c","createTime":"2026-11-21T01:00:00Z"}}]}`)})
	got, err := w.submitter.Batch(
		t.Context(), submit.Job{CorrelationID: "c"}, model, &genai.BatchJobSource{FileName: "files/x"}, nil,
	)
	if err != nil || got.Name != "batches/a" || !got.Known || got.Registered.Record.SubmittedAt.Hour() != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// died does what a run does that crashes after its intent.
func (w *world) died(id string) {
	w.t.Helper()
	if _, err := w.ledger.Intend(w.t.Context(), ledger.Intention{CorrelationID: id}); err != nil {
		w.t.Fatal(err)
	}
}

// TestAgainAfterARunThatStartedAgain: the third run waits for the second run's batch, which
// Gemini's list may not have at once [G6].
func TestAgainAfterARunThatStartedAgain(t *testing.T) {
	t.Parallel()
	w, k, job := newWorld(t), kinds[0], submit.Job{CorrelationID: "c"}
	w.died("c")
	w.clock.Advance(6 * time.Minute)
	w.sim.AnswerNext(k.create, "", geminisim.LostAnswer())
	_, err := k.submit(w, job)
	w.wantError(err, submit.ErrUnanswered)

	w.sim.AnswerNext(geminisim.OpList, "", geminisim.Answer{Body: []byte(`{}`), Times: 2})
	for _, d := range []time.Duration{time.Second, 4 * time.Minute} {
		w.clock.Advance(d)
		_, err = k.submit(w, job)
		w.wantError(err, submit.ErrUncertain)
	}
	w.clock.Advance(time.Minute)
	got, err := k.submit(w, job)
	if err != nil || !got.Known {
		t.Errorf("%+v, %v", got, err)
	}
	if n := w.sim.Stats().Creates; n != 1 {
		t.Errorf("%d were submitted", n)
	}
}

// TestAgainWhileAnotherRunIs: two runs find that nothing was submitted, and only one submits.
func TestAgainWhileAnotherRunIs(t *testing.T) {
	t.Parallel()
	w, k, job := newWorld(t), kinds[0], submit.Job{CorrelationID: "c"}
	w.died("c")
	w.clock.Advance(6 * time.Minute)
	slow := w.submitter
	w.registrar.beforeRenew = func() { // the slow run has seen the list
		w.registrar.beforeRenew = nil
		if _, err := k.submit(w, job); err != nil {
			t.Error(err)
		}
	}
	_, err := slow.Submit(t.Context(), job, operation.Batches, func(context.Context, submit.Mark) (string, error) {
		t.Error("the slow run submits, too")
		return "batches/twice", nil
	})
	w.wantError(err, submit.ErrUncertain, ledger.ErrConflict)
	if n := w.sim.Stats().Creates; n != 1 {
		t.Errorf("%d were submitted", n)
	}
}

// TestAgainAfterItWasGivenUp: a run that reuses an abandoned intent is as visible as a first one
// [G6].
func TestAgainAfterItWasGivenUp(t *testing.T) {
	t.Parallel()
	w, k, job := newWorld(t), kinds[0], submit.Job{CorrelationID: "c"}
	w.died("c")
	w.clock.Advance(ledger.DefaultSettings().StuckAfter + time.Hour)
	page, err := w.ledger.DueIntents(t.Context(), w.clock.Now(), ledger.Cursor{}, 10)
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	if _, err := w.ledger.AbandonIntent(t.Context(), page.Items[0], w.clock.Now(), ""); err != nil {
		t.Fatal(err)
	}
	w.wantIntent("")

	w.registrar.renew = ledger.ErrUnavailable
	_, err = k.submit(w, job)
	w.wantError(err, ledger.ErrUnavailable)
	if n := w.sim.Stats().Creates; n != 0 {
		t.Errorf("%d were submitted without an intent that is looked for", n)
	}
	w.registrar.renew = nil
	w.sim.AnswerNext(k.create, "", geminisim.LostAnswer())
	_, err = k.submit(w, job)
	w.wantError(err, submit.ErrUnanswered)
	w.wantIntent("c")

	// What is refused on the way leaves nothing either.
	w.died("d")
	w.clock.Advance(6 * time.Minute)
	w.sim.AnswerNext(k.create, "", geminisim.ErrorAnswer(http.StatusForbidden, "no"))
	_, err = k.submit(w, submit.Job{CorrelationID: "d"})
	w.wantError(err, submit.ErrRefused)
	w.wantIntent("c")
}
