package reconcile_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// A meeting is a store at which passes wait for each other, when each has read which intents are due.
type meeting struct {
	ledger.Store
	due *sync.WaitGroup
}

func (m meeting) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	page, err := m.Store.Query(ctx, q)
	if q.Collection == ledger.IntentsCollection && !q.NotAfter.IsZero() {
		m.due.Done()
		m.due.Wait()
	}
	return page, err
}

// TestIntentsOverlap: of two passes that found the same due intents, one looks up what each names, and
// one abandons each. The other has no error [G6, R6].
func TestIntentsOverlap(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, setting{alerts: true})
	w.intend("over", ledger.Intention{Collection: operation.Operations})
	w.clock.Advance(stuckAfter)
	w.intend("named", ledger.Intention{Collection: operation.Operations})
	w.keep("named", named(w, "operations/unknown"))
	w.clock.Advance(interval)
	var due, passes sync.WaitGroup
	due.Add(2)
	for range 2 {
		r := w.reconciler(w.over(meeting{w.store, &due}))
		passes.Go(func() {
			if got, err := r.Pass(t.Context()); err != nil || got != (reconcile.Summary{}) {
				t.Errorf("R6: %+v, %v", got, err)
			}
		})
	}
	passes.Wait()
	if n := w.lookups()["operations/unknown"]; n != 1 {
		t.Errorf("R6: looked up %d times", n)
	}
	abandoned := 0
	for _, line := range w.logged() {
		if line["event"] == "intent" && line["outcome"] == "abandoned" {
			abandoned++
		}
	}
	if over := w.intent("over"); abandoned != 1 || over.State != ledger.IntentAbandoned || len(w.published()) != 1 {
		t.Errorf("G6: abandoned %d times: %+v", abandoned, over)
	}
}

// found returns which operations the log says were found since the last call, and how.
func (w *world) found() (all []string) {
	w.Helper()
	for _, line := range w.logged() {
		if line["event"] == "discovery" {
			all = append(all, fmt.Sprint(line["operation"], " ", line["outcome"]))
		}
	}
	slices.Sort(all)
	return all
}

// TestFoundIsLogged: the log names each operation that discovery bound, once, and none that it could
// not bind. An overdue intent whose operation is found is not abandoned [G6].
func TestFoundIsLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intend("c-1", ledger.Intention{Collection: operation.Operations})
	video := w.video("v", geminisim.VideoSucceeded)
	w.keep("c-1", video, named(w, "operations/unknown"))
	w.intend("c-2", ledger.Intention{})
	w.clock.Advance(stuckAfter)
	// Both have the id, so that one of them cannot be bound to it.
	first, second := w.register("opledger:c-2", geminisim.StateRunning), w.register("opledger:c-2", geminisim.StateRunning)
	w.passWith(reconcile.Options{})
	want := []string{string(w.intent("c-2").Operation) + " bound", string(video.Key) + " bound"} // batches/, operations/
	if got := w.found(); !cmp.Equal(got, want) {
		t.Errorf("G6: found %v, want %v; the batches are %s and %s", got, want, first.Key, second.Key)
	}
	for _, id := range []string{"c-1", "c-2"} {
		if intent := w.intent(id); intent.State != ledger.IntentBound || !intent.AbandonedAt.IsZero() {
			t.Errorf("G6: %+v", intent)
		}
	}
	if asked := w.lookups()["operations/unknown"]; asked != 0 {
		t.Errorf("G6: the other name was looked up %d times", asked)
	}
}
