package reconcile_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// attemptOver is how long after an attempt Gemini's list is read for its submitter.
const attemptOver = 5 * time.Minute

// decides wants the verdict that a submitter is told which starts again.
func (w *world) decides(id string, want ledger.IntentVerdict) {
	w.Helper()
	intent, err := w.ledger.Intents.Intend(w.Context(), ledger.Intention{
		Submission: operation.Submission{CorrelationID: id}, Collection: operation.Batches,
	})
	if err != nil || intent.Verdict != want {
		w.Errorf("G6: %s: %+v, %v, want %s", id, intent, err, want)
	}
}

// TestUnlisted: a pass that reads Gemini's list in vain, five minutes after the attempt or later,
// lets the submitter submit again; it comes for that by itself, and once [G6].
func TestUnlisted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intend("c-1", ledger.Intention{Collection: operation.Batches})
	w.clock.Advance(attemptOver - time.Second)
	w.passWith(reconcile.Options{})
	w.decides("c-1", ledger.MustWait)
	w.clock.Advance(time.Second)
	w.passWith(reconcile.Options{})
	version := w.intent("c-1").Version
	w.clock.Advance(interval)
	w.passWith(reconcile.Options{})
	if again := w.intent("c-1").Version; again != version {
		t.Errorf("G6: a second pass wrote version %d after %d", again, version)
	}
	w.decides("c-1", ledger.MaySubmit)
	w.decides("c-1", ledger.MustWait) // that was the next attempt
	w.clock.Advance(attemptOver)
	w.passWith(reconcile.Options{})
	w.decides("c-1", ledger.MaySubmit)
}

// TestUnlistedWhenGivenUp: where the first pass comes after the intent's time, it decides it, too; and
// so does the last one of a search.
func TestUnlistedWhenGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intend("late", ledger.Intention{Collection: operation.Batches})
	w.intend("last", ledger.Intention{Collection: operation.Batches})
	w.clock.Advance(stuckAfter)
	w.fails(geminisim.OpList, "", http.StatusServiceUnavailable, 1)
	w.passWith(reconcile.Options{})
	w.clock.Advance(interval)
	w.passWith(reconcile.Options{})
	w.decides("late", ledger.MaySubmit)
	if intent := w.intent("last"); intent.State != ledger.IntentAbandoned {
		t.Fatalf("%+v", intent)
	}
	w.decides("last", ledger.MaySubmit)
}

// TestUnlistedInDoubt: nothing is decided where the operation may be there: the list was not read to
// its end, has the id without the name of a batch or from a clock far behind, or has an entry that
// does not say its id; a delivery's name could not be looked up; or no list can have it [G6].
func TestUnlistedInDoubt(t *testing.T) {
	t.Parallel()
	listed := func(body string) func(*world) {
		return func(w *world) {
			w.sim.AnswerNext(geminisim.OpList, "", geminisim.Answer{Body: []byte(body)})
		}
	}
	for what, doubt := range map[string]func(*world){
		"no answer":       func(w *world) { w.fails(geminisim.OpList, "", http.StatusServiceUnavailable, 1) },
		"half of a list":  listed(`{"operations":[],"nextPage`),
		"no batch's name": listed(`{"operations":[{"name":"jobs/x","metadata":{"displayName":"opledger:c-1"}}]}`),
		"no name":         listed(`{"operations":[{"metadata":{"displayName":"nightly opledger:c-1"}}]}`),
		"a clock far behind": listed(`{"operations":[{"name":"batches/old","metadata":{"displayName":"opledger:c-1",` +
			`"state":"BATCH_STATE_RUNNING","createTime":"2001-01-01T00:00:00Z"}}]}`),
		"an entry without metadata": listed(`{"operations":[{"name":"batches/bare"}]}`),
		"an entry that is none":     listed(`{"operations":[null]}`),
		"a name that is not answered": func(w *world) {
			w.fails(geminisim.OpGet, "batches/named", http.StatusServiceUnavailable, 1)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.intend("c-1", ledger.Intention{Collection: operation.Batches})
			w.keep("c-1", named(w, "batches/named"))
			w.clock.Advance(attemptOver)
			doubt(w)
			w.passWith(reconcile.Options{})
			w.decides("c-1", ledger.MustWait)
			w.clock.Advance(interval)
			w.passWith(reconcile.Options{})
			w.decides("c-1", ledger.MaySubmit)
		})
	}
	w := newWorld(t)
	w.intend("c-2", ledger.Intention{Collection: operation.Operations})
	w.clock.Advance(attemptOver)
	w.passWith(reconcile.Options{})
	w.decides("c-2", ledger.MustWait)
}

// TestUnlistedRenewedBetween: an intent that was renewed after the pass had begun is not decided by
// the list that the pass reads, also where its clock leaps [G6].
func TestUnlistedRenewedBetween(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intend("c-1", ledger.Intention{Collection: operation.Batches})
	w.clock.Advance(attemptOver)
	w.passWith(reconcile.Options{})
	w.clock.Advance(interval)
	w.keep("c-1", named(w, "batches/named")) // so that the next pass decides it once more
	w.sim.AnswerNext(geminisim.OpGet, "batches/named", geminisim.Answer{Status: http.StatusNotFound, Body: []byte("{}")})
	page, err := w.ledger.Intents.Due(t.Context(), w.clock.Now().Add(time.Hour), ledger.Cursor{}, 10)
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	start := w.clock.Now()
	w.clock.Advance(interval)
	w.passWith(reconcile.Options{})
	w.decides("c-1", ledger.MaySubmit) // another pass was faster, and a submitter after it
	_, err = w.ledger.Intents.Postpone(t.Context(), page.Items[0].Unlisted(time.Time{}, start), start)
	if err == nil {
		t.Error("G6: what was renewed since is decided")
	}
	w.decides("c-1", ledger.MustWait)
}

// TestUnlistedFoundLate: a batch that the list shows late is bound, not submitted again [G6].
func TestUnlistedFoundLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intend("c-1", ledger.Intention{Collection: operation.Batches})
	w.clock.Advance(grace)
	w.sim.AnswerNext(geminisim.OpList, "", geminisim.Answer{Body: []byte(`{}`), Times: 3})
	batch := w.submit("opledger:c-1", geminisim.StateRunning)
	w.passWith(reconcile.Options{})
	w.decides("c-1", ledger.MustWait)
	w.clock.Advance(attemptOver - grace)
	w.passWith(reconcile.Options{})
	w.isRegistered(batch)
	w.decides("c-1", ledger.IsBound)
}

// TestUnlistedByAnEmptyAnswer: a first or a last page that says nothing, once or twice, hides no batch: it is
// read again in the same pass [G6].
func TestUnlistedByAnEmptyAnswer(t *testing.T) {
	t.Parallel()
	for name, behind := range map[string]int{"first page": 0, "last page": 100} {
		for _, times := range []int{1, 2} {
			t.Run(fmt.Sprint(name, " ", times), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.intend("c-1", ledger.Intention{Collection: operation.Batches})
				batch := w.submit("opledger:c-1", geminisim.StateRunning)
				for i := range behind {
					w.submit(fmt.Sprint("strange ", i), geminisim.StateRunning)
				}
				w.clock.Advance(attemptOver)
				if behind > 0 {
					w.sim.AnswerNext(geminisim.OpList, "", geminisim.Answer{Body: w.firstPage()})
				}
				w.sim.AnswerNext(geminisim.OpList, "", geminisim.Answer{Body: []byte(`{}`), Times: times})
				w.passWith(reconcile.Options{})
				w.isRegistered(batch)
				w.decides("c-1", ledger.IsBound)
			})
		}
	}
}

// firstPage is Gemini's answer to the first request for its list.
func (w *world) firstPage() []byte {
	w.Helper()
	request := httptest.NewRequestWithContext(w.Context(), http.MethodGet, "/v1beta/batches?pageSize=100", nil)
	request.Header.Set("X-Goog-Api-Key", "key")
	answer := httptest.NewRecorder()
	w.sim.ServeHTTP(answer, request)
	if answer.Code != http.StatusOK {
		w.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	return answer.Body.Bytes()
}
