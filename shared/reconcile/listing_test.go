package reconcile_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/test/harness"
)

// isList reports whether a request is for Gemini's list of batches.
func isList(r *http.Request) bool { return r.URL.Path == "/v1beta/batches" }

// TestListed: many pending batches are found in the list with fewer requests than one each. With
// any order of the list, and any number of other batches in it, there are at most a tenth more
// [R6].
func TestListed(t *testing.T) {
	t.Parallel()
	due := harness.Soak(t, 115, 230, 230)
	more := harness.Soak(t, 1400, 4000, 4000) // on more pages than due/10, which may be read for them
	pages := func(batches int) int { return (batches + 99) / 100 }
	thorough := harness.Thorough(t)
	for name, c := range map[string]struct {
		strange int // unregistered batches in the list
		shuffle bool
		most    int // requests
	}{
		"R6: only ours":                {most: pages(due)},
		"R6: only ours, in any order":  {shuffle: true, most: pages(due)},
		"R6: as many others":           {strange: due, shuffle: true, most: pages(2 * due)},
		"R6: far more others in front": {strange: more, most: due + due/10},
		"R6: far more others":          {strange: more, shuffle: true, most: due + due/10},
	} {
		if c.strange > due && c.shuffle && !thorough { // other cases have as many, or any order
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorldWith(t, setting{sim: geminisim.Config{ShuffleLists: c.shuffle}})
			names := w.manyBatches(due)
			for i := range c.strange {
				w.submit(fmt.Sprint("strange ", i), geminisim.StateRunning)
			}
			w.endAll(names, geminisim.StateSucceeded)
			w.clock.Advance(grace)
			w.pass(reconcile.Summary{Due: due, Checked: due, Settled: due})
			if st := w.sim.Stats(); st.BatchGets+st.BatchLists > c.most || st.BatchLists > due/10 {
				t.Errorf("R6: %d gets and %d lists for %d batches, want at most %d", st.BatchGets, st.BatchLists, due, c.most)
			}
			for _, name := range names {
				rec, err := w.ledger.Operations.Read(t.Context(), name.Key)
				if err != nil || rec.State != operation.Succeeded || rec.LookUps != 1 || rec.Result.OutputFile == "" {
					t.Fatalf("R2: %+v %v", rec, err)
				}
			}
		})
	}
}

// TestFewAreLookedUpOneByOne: for a few batches the list is not read.
func TestFewAreLookedUpOneByOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.manyBatches(9)
	w.clock.Advance(grace)
	w.pass(reconcile.Summary{Due: 9, Checked: 9, Running: 9})
	if st := w.sim.Stats(); st.BatchGets != 9 || st.BatchLists != 0 {
		t.Errorf("R6: %d gets and %d lists", st.BatchGets, st.BatchLists)
	}
}

// TestListFails: batches that are not in the pages that could be read are looked up one by one.
// Pages read before the failure are used [R6].
func TestListFails(t *testing.T) {
	t.Parallel()
	limited := geminisim.ErrorAnswer(429, "slow down")
	limited.Header = http.Header{"Retry-After": {"1"}}
	for name, c := range map[string]struct {
		answer geminisim.Answer
		gets   int
	}{
		"R6: 503":           {geminisim.ErrorAnswer(503, "later"), 12},
		"R6: 403":           {geminisim.ErrorAnswer(403, "no"), 12},
		"R6: 429":           {limited, 12},
		"R6: HTML":          {geminisim.Answer{Body: []byte("<html>")}, 12},
		"R6: nothing there": {geminisim.Answer{Body: []byte("{}")}, 12},
		"R6: cut short": {geminisim.Answer{Body: []byte(`{"operations":[{"name":"batches/NAME",` +
			`"metadata":{"state":"BATCH_STATE_RUNNING"}},{"na`)}, 11},
		"R6: unreadable entries": {geminisim.Answer{Body: []byte(
			`{"operations":[null,7,{"name":"x"},{"name":"batches/NAME","metadata":{"state":"BATCH_STATE_PAUSED"}}]}`)}, 12},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, setting{}, func(t *testing.T, w *world) {
				names := w.manyBatches(12)
				c.answer.Body = []byte(strings.ReplaceAll(string(c.answer.Body), "NAME", names[3].Key.ID()))
				w.sim.AnswerNext(geminisim.OpList, "", c.answer)
				w.clock.Advance(grace)
				w.pass(reconcile.Summary{Due: 12, Checked: 12, Running: 12})
				if st := w.sim.Stats(); st.BatchGets != c.gets || st.BatchLists != 1 {
					t.Errorf("R6: %d gets and %d lists, want %d and 1", st.BatchGets, st.BatchLists, c.gets)
				}
			})
		})
	}
}

// TestGetFailsForEver: batches whose look-up fails for days, as was seen, are settled from the list
// [R4].
func TestGetFailsForEver(t *testing.T) {
	t.Parallel()
	for _, status := range []int{500, 503, 504} {
		w := newWorld(t)
		names := w.manyBatches(5)
		w.endAll(names, geminisim.StateSucceeded)
		w.fails(geminisim.OpGet, "", status, -1)
		w.clock.Advance(grace)
		w.pass(reconcile.Summary{Due: 5, Checked: 5, Settled: 5})
		if st := w.sim.Stats(); st.BatchLists != 1 {
			t.Errorf("%d: %d lists for 5 batches", status, st.BatchLists)
		}
		// A look-up on demand does the same.
		one := w.registered(w.submit("one", geminisim.StateSucceeded))
		answer, receipt, err := w.reconciler(w.ledger).One(t.Context(), one.Key)
		if err != nil || answer.State != operation.Succeeded || !receipt.Settled {
			t.Errorf("%d: %+v %+v %v", status, answer, receipt, err)
		}
	}
}

// TestGetHangsForEver: 385 look-ups that hang, as were seen at once, do not cost 385 timeouts.
func TestGetHangsForEver(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, setting{sim: geminisim.Config{ShuffleLists: true}})
	names := w.manyBatches(385)
	w.endAll(names, geminisim.StateSucceeded)
	w.sim.AnswerNext(geminisim.OpGet, "", geminisim.Answer{Hang: true, Times: -1})
	w.clock.Advance(grace)
	w.pass(reconcile.Summary{Due: 385, Checked: 385, Settled: 385})
	if st := w.sim.Stats(); st.BatchGets != 0 || st.BatchLists != 4 {
		t.Errorf("R6: %d gets and %d lists", st.BatchGets, st.BatchLists)
	}
}

// TestNotInTheList: a batch whose look-up fails and that is not in the list stays as it is. The
// list is read once.
func TestNotInTheList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 3 {
		w.registered(named(w, fmt.Sprint("batches/gone-", i)))
	}
	w.fails(geminisim.OpGet, "", 503, -1)
	w.clock.Advance(grace)
	w.pass(reconcile.Summary{Due: 3, Checked: 3, Unknown: 3})
	if st := w.sim.Stats(); st.BatchGets != 3 || st.BatchLists != 1 {
		t.Errorf("R6: %d gets and %d lists", st.BatchGets, st.BatchLists)
	}
}

// TestListedInline: results inside the list are not kept: the record only says that they exist
// [R6].
func TestListedInline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const megabyte = 1 << 20
	names := w.manyBatches(20)
	w.inFront(func(rw http.ResponseWriter, r *http.Request) bool {
		if !isList(r) {
			return false
		}
		answer := `{"response":{"candidates":[{"content":{"parts":[{"text":"` + strings.Repeat("x", megabyte) + `"}]}}]}}`
		separator := `{"operations":[`
		for _, name := range names {
			_, _ = fmt.Fprintf(rw, `%s{"name":%q,"done":true,
				"metadata":{"state":"BATCH_STATE_SUCCEEDED","updateTime":"2026-01-22T12:00:01Z",
				"output":{"inlinedResponses":{"inlinedResponses":[%s,null]}}}}`, separator, name.Resource, answer)
			separator = ","
		}
		_, _ = fmt.Fprint(rw, "]}")
		return true
	})
	w.clock.Advance(grace)
	w.pass(reconcile.Summary{Due: 20, Checked: 20, Settled: 20})
	for _, name := range names {
		if rec := w.record(name); rec.State != operation.Succeeded || !rec.Result.Inline || rec.Result.OutputFile != "" {
			t.Errorf("R2: %+v", rec)
		}
	}
	for _, m := range w.outbox.Drain() {
		story, err := w.ledger.Operations.Show(t.Context(), m.Operation)
		if err != nil || len(story.Effects) != 1 || len(story.Effects[0].Payload) > 1000 {
			t.Errorf("%v: %d effects, %v", m, len(story.Effects), err)
		}
	}
}

// TestSlowListLeavesDiscoveryItsTime: a list that does not answer in the look-ups' share of the
// time is read again in discovery's share [R6].
func TestSlowListLeavesDiscoveryItsTime(t *testing.T) {
	t.Parallel()
	inBubble(t, setting{}, func(t *testing.T, w *world) {
		w.manyBatches(12)
		w.intend("c-1", ledger.Intention{})
		lost := w.submit("opledger:c-1", geminisim.StateSucceeded)
		w.clock.Advance(grace)
		var hung atomic.Bool
		w.inFront(func(_ http.ResponseWriter, r *http.Request) bool {
			if !isList(r) || hung.Swap(true) {
				return false
			}
			<-r.Context().Done()
			return true
		})
		got := w.passWith(reconcile.Options{Budget: 8 * time.Second})
		if !got.More || got.Errors != 0 {
			t.Errorf("R6: %+v", got)
		}
		if rec := w.record(lost); !rec.Registered || rec.State != operation.Succeeded {
			t.Errorf("G6: not found: %+v", rec)
		}
	})
}
