package reconcile_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/test/harness"
)

// keep keeps a name that a delivery reported with an intent.
func (w *world) keep(id string, names ...operation.Name) {
	w.Helper()
	for _, name := range names {
		if kept, err := w.ledger.Intents.KeepName(w.Context(), id, name); err != nil || !kept {
			w.Fatalf("%s: %v, %v", name.Key, kept, err)
		}
	}
}

// intendNamed records the intent of a video, and keeps names with it.
func (w *world) intendNamed(names ...operation.Name) {
	w.Helper()
	w.intend("c-1", ledger.Intention{Collection: operation.Operations})
	w.keep("c-1", names...)
}

// hide makes the next so many look-ups of an operation answer not found; -1: all from now on.
func (w *world) hide(name operation.Name, times int) {
	w.fails(geminisim.OpVideoGet, name.Resource, 404, times)
}

// TestNamedByADelivery: a name that a delivery reported while Gemini did not know it is looked up
// until Gemini does. Then the operation is bound to the intent, with its submitter's values [G6].
func TestNamedByADelivery(t *testing.T) {
	t.Parallel()
	for _, givenUp := range []bool{false, true} {
		w := newWorld(t)
		name := w.video("v", geminisim.VideoSucceeded)
		w.hide(name, 1)
		w.intend("c-1", ledger.Intention{
			Submission: operation.Submission{JobKind: "trailer"}, Collection: operation.Operations,
		})
		if givenUp {
			w.clock.Advance(stuckAfter)
			w.pass(reconcile.Summary{})
		}
		w.keep("c-1", name, named(w, "operations/unknown"))
		w.pass(reconcile.Summary{}) // not asked at once: Gemini has just not known it
		if got := w.lookups(); len(got) != 0 {
			t.Errorf("G6: asked %v", got)
		}
		w.clock.Advance(interval)
		w.pass(reconcile.Summary{})
		if intent := w.intent("c-1"); intent.State == ledger.IntentBound {
			t.Errorf("G6: bound to what Gemini does not know: %+v", intent)
		}
		w.clock.Advance(interval)
		w.pass(reconcile.Summary{Settled: 1})
		rec, intent := w.record(name), w.intent("c-1")
		if intent.State != ledger.IntentBound || intent.Operation != name.Key || intent.BoundBy != operation.Reconcile ||
			rec.State != operation.Succeeded || rec.JobKind != "trailer" || rec.Name != name.Resource {
			t.Errorf("G6: %+v, %+v", intent, rec)
		}
		if got := w.published(); !cmp.Equal(got, []string{string(name.Key) + " publish"}) {
			t.Errorf("S3: published %v", got)
		}
		w.clock.Advance(interval)
		asked := w.lookups()["operations/unknown"]
		w.passWith(reconcile.Options{})
		if again := w.lookups()["operations/unknown"]; again != asked {
			t.Errorf("G6: the other name is still looked up")
		}
	}
}

// TestNameThatIsNeverFound: a name is looked up for 72 hours, less and less often. It does not keep
// its intent from being abandoned: the alert names it, and nothing is bound [G6, R4]. Outside of the gate a pass is
// made every third interval once that is long known, which still is more often than the name is looked up.
func TestNameThatIsNeverFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intendNamed(named(w, "models/veo/operations/unknown"))
	ended, began := 0, w.clock.Now()
	for w.clock.Now().Sub(began) < 80*time.Hour {
		w.clock.Advance(interval)
		if w.clock.Now().Sub(began) > 2*stuckAfter && !harness.Thorough(t) {
			w.clock.Advance(2 * interval)
		}
		w.passWith(reconcile.Options{})
		if intent := w.intent("c-1"); w.clock.Now().Sub(intent.CreatedAt) == stuckAfter {
			if intent.State != ledger.IntentAbandoned {
				t.Errorf("G6: %+v", intent)
			}
			w.says("unbound", "intents/c-1", "models/veo/operations/unknown", "nothing was bound")
		}
		ended += w.outcomes("search-ended", "c-1")
	}
	if ended != 1 {
		t.Errorf("G6: the log says %d times that the search has ended", ended)
	}
	asked := w.lookups()["models/veo/operations/unknown"]
	if intent := w.intent("c-1"); asked < 70 || asked > 140 || intent.State != ledger.IntentAbandoned ||
		!intent.DueAt.IsZero() {
		t.Errorf("G6: asked %d times, %+v", asked, intent)
	}
	if st := w.sim.Stats(); st.BatchLists != 0 {
		t.Errorf("G6: %d lists for a video", st.BatchLists)
	}
}

// TestNameThroughALongOutage: a name is looked up at least once, also where no pass came in all the
// time in which it is looked up, and another name then came before the pass [G6].
func TestNameThroughALongOutage(t *testing.T) {
	t.Parallel()
	for _, another := range []bool{false, true} {
		w := newWorld(t)
		video := w.video("known", geminisim.VideoRunning)
		w.intendNamed(video)
		w.clock.Advance(ledger.SearchFor + 24*time.Hour)
		if another {
			w.keep("c-1", named(w, "operations/unknown"))
		}
		w.passWith(reconcile.Options{})
		w.isRegistered(video)
		if alerts := w.alerted(); len(alerts) > 0 {
			t.Errorf("of what was found: %v", alerts)
		}
	}
}

// TestSearchThatTheStoreRefuses: a search ends only after what it found is recorded, and an error
// is counted [G6].
func TestSearchThatTheStoreRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	video := w.video("known", geminisim.VideoRunning)
	w.intendNamed(video)
	w.hide(video, 1)
	w.clock.Advance(ledger.SearchFor)
	w.passWith(reconcile.Options{}) // abandons it
	for _, below := range []string{string(ledger.OperationPath(video.Key)), ledger.IntentsCollection} {
		w.clock.Advance(time.Hour + interval)
		got, err := w.reconciler(w.over(failing{w.store, below})).Pass(t.Context())
		if intent := w.intent("c-1"); err != nil || got.Errors == 0 || intent.DueAt.IsZero() {
			t.Errorf("no commit to %s: %+v, %v, %+v", below, got, err, intent)
		}
		w.fails(geminisim.OpVideoGet, video.Resource, 503, 1)
	}
	w.passWith(reconcile.Options{}) // Gemini is down once more
	w.clock.Advance(time.Hour + interval)
	w.passWith(reconcile.Options{})
	w.isRegistered(video)
}

// TestNameWithoutAnAnswer: after a long outage a name is looked up until Gemini has answered, also
// when its intent was given up meanwhile. The alert says that the job may be running [G6, R4].
func TestNameWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	video := w.video("known", geminisim.VideoRunning)
	w.intendNamed(video)
	w.clock.Advance(ledger.SearchFor + 24*time.Hour)
	w.fails(geminisim.OpVideoGet, video.Resource, 503, 2)
	w.passWith(reconcile.Options{})
	if intent := w.intent("c-1"); intent.State != ledger.IntentAbandoned || intent.DueAt.IsZero() {
		t.Errorf("after the first pass: %+v", intent)
	}
	w.says("unbound", "intents/c-1", "may be running", "could not be looked up")
	for range 2 {
		w.clock.Advance(time.Hour + interval)
		w.passWith(reconcile.Options{})
		if w.outcomes("search-ended", "c-1") > 0 {
			t.Error("the search has ended")
		}
	}
	if rec := w.record(video); !rec.Registered || w.lookups()[video.Resource] != 3 {
		t.Errorf("after %d look-ups: %+v", w.lookups()[video.Resource], rec)
	}
}

// TestNameThatIsNeverAnswered: a search that Gemini never answers ends after twice its time.
func TestNameThatIsNeverAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intendNamed(named(w, "models/veo/operations/denied"))
	w.fails(geminisim.OpVideoGet, "models/veo/operations/denied", 403, -1)
	began := w.clock.Now()
	for w.clock.Now().Sub(began) < 3*ledger.SearchFor && !w.intent("c-1").DueAt.IsZero() {
		w.clock.Advance(time.Hour)
		w.passWith(reconcile.Options{})
	}
	if took := w.clock.Now().Sub(began); took < 2*ledger.SearchFor || took > 2*ledger.SearchFor+4*time.Hour {
		t.Errorf("the search took %v: %+v", took, w.intent("c-1"))
	}
}

// TestNameOfAnother: a name is not bound where Gemini reports another id for the operation, or
// where the operation is registered: the id was vouched for, but not the name [G6, K6].
func TestNameOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other, known := w.submit("opledger:c-2", geminisim.StateSucceeded),
		w.registered(w.video("known", geminisim.VideoRunning))
	w.intendNamed(other, known)
	w.clock.Advance(interval)
	w.passWith(reconcile.Options{})
	if intent := w.intent("c-1"); intent.State != ledger.IntentOpen {
		t.Errorf("G6: %+v", intent)
	}
	w.isNotRegistered("another id", other)
	if _, err := w.ledger.Operations.Read(t.Context(), other.Key); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("G6: the operation of another id is written: %v", err)
	}
	if rec := w.record(known); rec.CorrelationID != "" {
		t.Errorf("G6: %+v", rec)
	}
}

// TestNameWithoutAState: Gemini has the operation, which is enough to bind it [G6].
func TestNameWithoutAState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.video("v", geminisim.VideoRunning)
	w.sim.AnswerNext(geminisim.OpVideoGet, name.Resource, geminisim.Answer{
		Body: []byte(fmt.Sprintf(`{"name":%q,"done":true}`, name.Resource)), Times: -1,
	})
	w.intendNamed(name)
	w.clock.Advance(interval)
	w.pass(reconcile.Summary{})
	if rec, intent := w.record(name), w.intent("c-1"); intent.State != ledger.IntentBound ||
		rec.State != operation.Pending || !rec.Registered {
		t.Errorf("G6: %+v, %+v", intent, rec)
	}
	w.clock.Advance(grace + time.Second)
	w.pass(reconcile.Summary{Due: 1, Checked: 1, Unknown: 1})
}
