package submit_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/submit"
)

// died leaves what a run leaves that died after its intent.
func (w *world) died(id string) {
	w.t.Helper()
	if _, err := w.ledger.Intend(w.t.Context(), ledger.Intention{CorrelationID: id}); err != nil {
		w.t.Fatal(err)
	}
}

// TestAgainAfterARunThatStartedAgain: what the second run may have sent is waited for as what the first one may have [G6]:
// Gemini's list need not have it at once.
func TestAgainAfterARunThatStartedAgain(t *testing.T) {
	t.Parallel()
	w, k, job := newWorld(t), kinds[0], submit.Job{CorrelationID: "c"}
	w.died("c")
	w.pass(6 * time.Minute)
	w.sim.AnswerNext(k.create, "", geminisim.LostAnswer())
	_, err := k.submit(w, job)
	w.wantError(err, submit.ErrUnanswered)

	w.sim.AnswerNext(geminisim.OpList, "", geminisim.Answer{Body: []byte(`{}`), Times: 2})
	for _, d := range []time.Duration{time.Second, 4 * time.Minute} {
		w.pass(d)
		_, err = k.submit(w, job)
		w.wantError(err, submit.ErrUncertain)
	}
	w.pass(time.Minute)
	got, err := k.submit(w, job)
	if err != nil || !got.Known {
		t.Errorf("%+v, %v", got, err)
	}
	if n := w.sim.Stats().Creates; n != 1 {
		t.Errorf("%d were submitted", n)
	}
}

// TestAgainWhileAnotherRunIs: of two runs that both found that nothing was submitted one submits.
func TestAgainWhileAnotherRunIs(t *testing.T) {
	t.Parallel()
	w, k, job := newWorld(t), kinds[0], submit.Job{CorrelationID: "c"}
	w.died("c")
	w.pass(6 * time.Minute)
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

// TestAgainAfterItWasGivenUp: a run that starts again with an intent that was given up is as visible as a first one [G6].
func TestAgainAfterItWasGivenUp(t *testing.T) {
	t.Parallel()
	w, k, job := newWorld(t), kinds[0], submit.Job{CorrelationID: "c"}
	w.died("c")
	w.pass(ledger.DefaultSettings().StuckAfter + time.Hour)
	page, err := w.ledger.DueIntents(t.Context(), w.clock(), ledger.Cursor{}, 10)
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	if err := w.ledger.AbandonIntent(t.Context(), page.Items[0], w.clock()); err != nil {
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
	w.pass(6 * time.Minute)
	w.sim.AnswerNext(k.create, "", geminisim.ErrorAnswer(http.StatusForbidden, "no"))
	_, err = k.submit(w, submit.Job{CorrelationID: "d"})
	w.wantError(err, submit.ErrRefused)
	w.wantIntent("c")
}
