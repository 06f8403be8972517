package reconcile_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestSubmitterDied: a batch whose submitter died before it registered is bound to its intent,
// registered with the intent's values, and settled. Its effect is planned once [G6].
func TestSubmitterDied(t *testing.T) {
	t.Parallel()
	for _, shuffle := range []bool{false, true} {
		w := newWorldWith(t, setting{sim: geminisim.Config{ShuffleLists: shuffle}})
		w.intend("c-1", ledger.Intention{
			Submission: operation.Submission{JobKind: "review", Metadata: `{"night":"22"}`}, Collection: operation.Batches,
		})
		lost := w.lose("nightly opledger:c-1")
		for i := range 250 {
			w.submit(fmt.Sprint("other opledger:other-", i), geminisim.StateRunning)
		}
		w.clock.Advance(grace)
		w.pass(reconcile.Summary{})
		rec := w.record(lost)
		if !rec.Registered || rec.JobKind != "review" || rec.Metadata != `{"night":"22"}` ||
			rec.State != operation.Running || rec.CorrelationID != "c-1" {
			t.Errorf("G6: %+v", rec)
		}
		if intent := w.intent("c-1"); intent.State != ledger.IntentBound || intent.Operation != lost.Key {
			t.Errorf("G6: %+v", intent)
		}
		if st := w.sim.Stats(); st.BatchLists != 3 {
			t.Errorf("G6: %d lists for 251 batches", st.BatchLists)
		}
		w.move(lost, geminisim.StateSucceeded)
		w.clock.Advance(interval)
		w.pass(reconcile.Summary{Due: 1, Checked: 1, Settled: 1})
		w.clock.Advance(time.Minute)
		w.pass(reconcile.Summary{EffectsRequeued: 1}) // no worker runs here
		if got := w.published(); !cmp.Equal(got, []string{string(lost.Key) + " publish"}) {
			t.Errorf("S3: published %v", got)
		}
		if story, err := w.ledger.Operations.Show(t.Context(), lost.Key); err != nil || len(story.Effects) != 1 {
			t.Errorf("S3: %+v %v", story.Effects, err)
		}
		if st := w.sim.Stats(); st.BatchLists != 3 {
			t.Errorf("G6: %d lists, although no intent is open any more", st.BatchLists)
		}
	}
}

// lose submits a batch whose submitter dies before the answer.
func (w *world) lose(display string) operation.Name {
	w.Helper()
	w.sim.AnswerNext(geminisim.OpCreate, "", geminisim.LostAnswer())
	w.post(batchPath, batchBody(display), display, geminisim.StateRunning)
	batches := w.sim.Batches()
	return named(w, batches[len(batches)-1].Name)
}

// TestUnknownStateIsBound: a batch is bound to its intent whatever state Gemini reports, and
// look-ups do the rest. So is an operation that was registered without its id [G6].
func TestUnknownStateIsBound(t *testing.T) {
	t.Parallel()
	for _, state := range []geminisim.State{"BATCH_STATE_PAUSED", "BATCH_STATE_UNSPECIFIED"} {
		w := newWorldWith(t, setting{alerts: true})
		w.intend("c-1", ledger.Intention{Submission: operation.Submission{JobKind: "review"}})
		w.intend("c-2", ledger.Intention{})
		lost, known := w.submit("opledger:c-1", state), w.register("opledger:c-2", state)
		w.clock.Advance(grace)
		w.pass(reconcile.Summary{Due: 1, Checked: 1, Unknown: 1})
		for id, name := range map[string]operation.Name{"c-1": lost, "c-2": known} {
			rec, intent := w.record(name), w.intent(id)
			if intent.State != ledger.IntentBound || intent.Operation != name.Key || intent.BoundBy != operation.Reconcile ||
				!rec.Registered || rec.State != operation.Pending || rec.CorrelationID != id {
				t.Errorf("G6: %q: %+v, %+v", state, intent, rec)
			}
		}
		if rec := w.record(lost); rec.JobKind != "review" {
			t.Errorf("G6: %q: %+v", state, rec)
		}
		w.move(lost, geminisim.StateSucceeded)
		w.clock.Advance(interval)
		w.pass(reconcile.Summary{Due: 2, Checked: 2, Settled: 1, Unknown: 1})
		if got := w.published(); !cmp.Equal(got, []string{string(lost.Key) + " publish"}) {
			t.Errorf("S3: published %v", got)
		}
	}
}

// TestSubmitterDiedAfterTheEnd: where the batch has ended already, the commit that binds it plans
// the effect.
func TestSubmitterDiedAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intend("c-1", ledger.Intention{})
	lost := w.submit("opledger:c-1", geminisim.StateSucceeded)
	w.clock.Advance(grace)
	w.pass(reconcile.Summary{Settled: 1})
	w.pass(reconcile.Summary{EffectsRequeued: 1}) // no worker runs here
	if got := w.published(); !cmp.Equal(got, []string{string(lost.Key) + " publish"}) {
		t.Errorf("S3: published %v", got)
	}
}

// TestRegisteredWithoutItsID: an operation that was registered without its correlation id is bound
// to its intent.
func TestRegisteredWithoutItsID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intend("c-1", ledger.Intention{Submission: operation.Submission{JobKind: "review"}})
	name := w.register("opledger:c-1", geminisim.StateRunning)
	w.clock.Advance(grace)
	w.pass(reconcile.Summary{Due: 1, Checked: 1, Running: 1})
	if rec, intent := w.record(name), w.intent("c-1"); intent.State != ledger.IntentBound ||
		rec.CorrelationID != "c-1" || rec.JobKind != "review" {
		t.Errorf("G6: %+v, %+v", rec, intent)
	}
}

// TestOneIDTwoBatches: of two batches with one correlation id one is bound. The other stays
// unregistered, even where unregistered batches are adopted [K6].
func TestOneIDTwoBatches(t *testing.T) {
	t.Parallel()
	for _, adopt := range []bool{false, true} {
		w := newWorld(t)
		w.intend("c-1", ledger.Intention{})
		names := []operation.Name{w.submit("opledger:c-1", geminisim.StateSucceeded),
			w.submit("again opledger:c-1", geminisim.StateSucceeded)}
		w.clock.Advance(grace)
		for range 3 {
			w.passWith(reconcile.Options{Adopt: adopt})
		}
		bound := w.intent("c-1")
		for _, name := range names {
			rec, err := w.ledger.Operations.Read(t.Context(), name.Key)
			if want := name.Key == bound.Operation; err != nil || rec.Registered != want {
				t.Errorf("K6: adopting %v: %+v %v, want registered %v", adopt, rec, err, want)
			}
		}
		if got := w.published(); !cmp.Equal(got, []string{string(bound.Operation) + " publish"}) {
			t.Errorf("S3: published %v", got)
		}
	}
}

// TestAdopt: unregistered batches without an intent are registered where the settings say so.
func TestAdopt(t *testing.T) {
	t.Parallel()
	for _, adopt := range []bool{false, true} {
		w := newWorld(t)
		strange := []operation.Name{
			w.submit("strange", geminisim.StateSucceeded), w.submit("opledger:c-9", geminisim.StateRunning),
			w.submit("paused", "BATCH_STATE_PAUSED"),
		}
		w.register("known", geminisim.StateRunning) // which is not adopted, too
		w.clock.Advance(grace)
		want := reconcile.Summary{Due: 1, Checked: 1, Running: 1}
		if adopt {
			want.Settled = 1
		}
		if got := w.passWith(reconcile.Options{Adopt: adopt}); got != want {
			t.Errorf("adopting %v: the pass says %+v, want %+v", adopt, got, want)
		}
		if !adopt {
			for _, name := range strange {
				w.isNotRegistered("nothing is adopted", name)
			}
			continue
		}
		for _, name := range strange {
			if rec := w.record(name); !rec.Registered || rec.SubmittedAt.IsZero() {
				t.Errorf("adopted %+v", rec)
			}
		}
		var told int
		for _, line := range w.logged() {
			if line["event"] == "discovery" && line["outcome"] == "adopted" {
				told++
			}
		}
		if told != len(strange) {
			t.Errorf("told %d times, want %d", told, len(strange))
		}
		w.clock.Advance(interval)
		w.passWith(reconcile.Options{Adopt: true})
		if got := w.published(); !slices.Contains(got, string(strange[0].Key)+" publish") {
			t.Errorf("published %v", got)
		}
	}
}

// TestNothingToDiscover: where no open intent could be in the list, the list is not read.
func TestNothingToDiscover(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*world){
		"G6: no intent":     func(*world) {},
		"G6: a bound one":   func(w *world) { w.intend("c-1", ledger.Intention{}); w.bound("c-1") },
		"G6: a young one":   func(w *world) { w.clock.Advance(grace); w.intend("c-1", ledger.Intention{}) },
		"G6: a video's":     func(w *world) { w.intend("c-1", ledger.Intention{Collection: operation.Operations}) },
		"G6: interaction's": func(w *world) { w.intend("c-1", ledger.Intention{Collection: operation.Interactions}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			prepare(w)
			w.clock.Advance(grace - time.Second)
			if got := w.passWith(reconcile.Options{}); got.Errors != 0 {
				t.Errorf("%+v", got)
			}
			if st := w.sim.Stats(); st.BatchLists != 0 {
				t.Errorf("G6: %d requests for the list", st.BatchLists)
			}
		})
	}
}

// bound registers an operation with a correlation id.
func (w *world) bound(id string) {
	w.Helper()
	if _, err := w.ledger.Operations.Register(w.Context(), ledger.Registration{Name: named(w, "interactions/"+id),
		Submission: operation.Submission{CorrelationID: id}}); err != nil {
		w.Fatal(err)
	}
}
