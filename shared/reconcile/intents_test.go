package reconcile_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// stuckAfter is when an intent without an operation is abandoned.
const stuckAfter = 6 * time.Hour

// says checks that the last lines have one alert about a subject, with all these words.
func (w *world) says(reason, subject string, words ...string) {
	w.Helper()
	var alerts []map[string]any
	for _, line := range w.logged() {
		if line["event"] == "alert" && line["reason"] == reason && line["operation"] == subject {
			alerts = append(alerts, line)
		}
	}
	if len(alerts) != 1 {
		w.Errorf("R4: %d alerts that %s is %s: %v", len(alerts), subject, reason, alerts)
		return
	}
	for _, word := range words {
		if !strings.Contains(fmt.Sprint(alerts[0]["message"]), word) {
			w.Errorf("R4: the alert does not say %q: %v", word, alerts[0])
		}
	}
}

// TestAbandonedIntent: an intent without an operation is abandoned after a while, with an alert. An
// operation that appears later is still bound [G6].
func TestAbandonedIntent(t *testing.T) {
	t.Parallel()
	for _, in := range []operation.Collection{"", operation.Batches, operation.Operations, operation.Interactions} {
		w := newWorldWith(t, setting{alerts: true})
		w.intend("c-1", ledger.Intention{Collection: in, Submission: operation.Submission{JobKind: "review"}})
		w.clock.Advance(stuckAfter - time.Second)
		w.pass(reconcile.Summary{})
		if intent := w.intent("c-1"); intent.State != ledger.IntentOpen {
			t.Errorf("G6: too soon: %+v", intent)
		}
		w.clock.Advance(time.Second)
		w.pass(reconcile.Summary{})
		if intent := w.intent("c-1"); intent.State != ledger.IntentAbandoned || !intent.AbandonedAt.Equal(w.clock.Now()) {
			t.Errorf("G6: %+v", intent)
		}
		got := w.outbox.Drain()
		if len(got) != 1 || got[0].Operation != "intents/c-1" || ledger.RuleOf(got[0].Effect) != "page" {
			t.Errorf("R4: published %v", got)
		}
		if got := w.alerted(); !cmp.Equal(got, []string{"intents/c-1 unbound"}) {
			t.Errorf("R4: the log says %v, want it once, beside the effect", got)
		}
		lists := w.sim.Stats().BatchLists
		w.clock.Advance(time.Minute)
		w.pass(reconcile.Summary{EffectsRequeued: 1}) // no worker runs here
		if sent, again := w.published(), w.sim.Stats().BatchLists; !cmp.Equal(sent,
			[]string{"intents/c-1 " + got[0].Effect}) || again != lists {
			t.Errorf("G6: given up twice: %v, %d lists", sent, again-lists)
		}

		name := w.submit("opledger:c-1", geminisim.StateSucceeded)
		if _, err := w.ledger.Operations.Ingest(t.Context(), operation.Event{
			Name: name, DeliveryID: "m1", Source: operation.Webhook, State: operation.Succeeded, UpdateTime: w.clock.Now(),
			CorrelationID: "c-1",
		}); err != nil {
			t.Fatal(err)
		}
		if rec, intent := w.record(name), w.intent("c-1"); !rec.Registered || rec.JobKind != "review" ||
			intent.State != ledger.IntentBound {
			t.Errorf("G6: bound late: %+v %+v", rec, intent)
		}
	}
}

// TestAbandonedIntentIsLogged: without an effect for it the alert is logged, and says what was
// searched.
func TestAbandonedIntentIsLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intend("batch", ledger.Intention{})
	w.intend("video", ledger.Intention{Collection: operation.Operations})
	w.clock.Advance(stuckAfter)
	w.pass(reconcile.Summary{})
	lines := w.log.Drain(w)
	for subject, words := range map[string]string{"intents/batch": "nothing was found",
		"intents/video": "no list of operations"} {
		found := false
		for _, line := range lines {
			found = found || line["operation"] == subject && line["reason"] == "unbound" &&
				strings.Contains(fmt.Sprint(line["message"]), words) &&
				!strings.Contains(fmt.Sprint(line["message"]), "deliveries") // none named anything
		}
		if !found {
			t.Errorf("R4: nothing says %q of %s: %v", words, subject, lines)
		}
	}
}

// TestSearchedAfterItWasAbandoned: a batch that the list shows late is bound although its intent
// was abandoned. The list is read for that less and less often, for 72 hours [G6].
func TestSearchedAfterItWasAbandoned(t *testing.T) {
	t.Parallel()
	for _, shown := range []time.Duration{10 * time.Minute, 71 * time.Hour, 0} {
		t.Run(fmt.Sprint("shown after ", shown), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.submit("another", geminisim.StateRunning) // an empty list is read more than once
			w.intend("c-1", ledger.Intention{Submission: operation.Submission{JobKind: "review"}})
			w.clock.Advance(stuckAfter)
			w.pass(reconcile.Summary{})
			givenUp, before := w.clock.Now(), w.sim.Stats().BatchLists
			var name operation.Name
			var step time.Duration // between passes
			for w.clock.Now().Sub(givenUp) < 80*time.Hour && w.intent("c-1").State != ledger.IntentBound {
				if step = interval; w.clock.Now().Sub(givenUp) > stuckAfter { // it is searched for once an hour at last
					step *= 3
				}
				w.clock.Advance(step)
				if shown > 0 && name.Key == "" && w.clock.Now().Sub(givenUp) >= shown {
					name = w.submit("opledger:c-1", geminisim.StateRunning)
				}
				w.passWith(reconcile.Options{})
			}
			intent, lists := w.intent("c-1"), w.sim.Stats().BatchLists-before
			if shown == 0 {
				if lists < 70 || lists > 100 || intent.State != ledger.IntentAbandoned || !intent.DueAt.IsZero() {
					t.Errorf("G6: %d lists in 80 hours, %+v", lists, intent)
				}
				return
			}
			late := w.clock.Now().Sub(givenUp) - shown
			if rec := w.record(name); intent.Operation != name.Key || rec.JobKind != "review" || late > time.Hour+step {
				t.Errorf("G6: %v late: %+v, %+v", late, intent, rec)
			}
			if shown == 10*time.Minute && (late > 2*interval || lists > 4) {
				t.Errorf("G6: %v late, after %d lists", late, lists)
			}
		})
	}
}

// TestIncompleteList: while the list cannot be read to its end no intent is abandoned, because its
// batch may be in the rest. What was read is handled [G6].
func TestIncompleteList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 150 {
		w.submit(fmt.Sprint("b", i), geminisim.StateRunning)
	}
	found := w.submit("opledger:c-1", geminisim.StateRunning) // the newest, on the first page
	w.intend("c-1", ledger.Intention{})
	w.intend("c-2", ledger.Intention{})
	w.intend("c-3", ledger.Intention{Collection: operation.Operations}) // of a video, which no list has
	w.clock.Advance(stuckAfter)
	fails := true
	w.inFront(func(rw http.ResponseWriter, r *http.Request) bool {
		if !isList(r) || r.URL.Query().Get("pageToken") == "" || !fails {
			return false
		}
		rw.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	w.pass(reconcile.Summary{Errors: 1})
	if rec, intent := w.record(found), w.intent("c-2"); !rec.Registered || intent.State != ledger.IntentOpen {
		t.Errorf("G6: %+v, %+v", rec, intent)
	}
	if intent := w.intent("c-3"); intent.State != ledger.IntentAbandoned {
		t.Errorf("R6: the list keeps it open, which says nothing about it: %+v", intent)
	}
	fails = false
	w.pass(reconcile.Summary{Due: 1, Checked: 1, Running: 1})
	if intent := w.intent("c-2"); intent.State != ledger.IntentAbandoned {
		t.Errorf("G6: %+v", intent)
	}
}

// TestListNeverCompletes: where the list can never be read to its end, an intent is abandoned at
// last, and the alert says that its job may be running. Its batch is still bound when the list
// shows it [G6, R4].
func TestListNeverCompletes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(rw http.ResponseWriter, page int64)
		lists  int64
		says   string
		alerts []string
	}{
		"no end": {func(rw http.ResponseWriter, page int64) {
			_, _ = fmt.Fprintf(rw, `{"operations":[],"nextPageToken":"%d"}`, page)
		}, 200, "more than 200 pages", []string{"<nil> long-list"}},
		"refused": {func(rw http.ResponseWriter, _ int64) {
			rw.WriteHeader(http.StatusForbidden)
		}, 1, "not read to its end", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, setting{}, func(t *testing.T, w *world) {
				w.intend("c-1", ledger.Intention{})
				var lists atomic.Int64
				w.inFront(func(rw http.ResponseWriter, r *http.Request) bool {
					if isList(r) {
						c.answer(rw, lists.Add(1))
					}
					return isList(r)
				})
				w.clock.Advance(stuckAfter)
				w.pass(reconcile.Summary{Errors: 1})
				if intent := w.intent("c-1"); intent.State != ledger.IntentOpen || lists.Load() != c.lists {
					t.Errorf("G6: %+v after %d lists", intent, lists.Load())
				}
				if alerts := w.alerted(); !slices.Equal(alerts, c.alerts) {
					t.Errorf("G6: alerts %q, want %q", alerts, c.alerts)
				}
				w.clock.Advance(stuckAfter - time.Second)
				w.pass(reconcile.Summary{Errors: 1})
				if intent := w.intent("c-1"); intent.State != ledger.IntentOpen {
					t.Errorf("G6: too soon: %+v", intent)
				}
				w.logged()
				w.clock.Advance(time.Second)
				w.pass(reconcile.Summary{Errors: 1})
				if intent := w.intent("c-1"); intent.State != ledger.IntentAbandoned {
					t.Errorf("G6: %+v", intent)
				}
				w.says("unbound", "intents/c-1", "may be running", "do not submit it again", c.says)

				w.inFront(nil)
				batch := w.submit("opledger:c-1", geminisim.StateRunning)
				w.clock.Advance(interval)
				w.pass(reconcile.Summary{})
				if intent := w.intent("c-1"); intent.Operation != batch.Key {
					t.Errorf("G6: %+v", intent)
				}
			})
		})
	}
}

// TestPoisonedIntent: an unreadable intent or record does not keep others from being found [R6].
func TestPoisonedIntent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.intend("bad", ledger.Intention{})
	w.intend("c-1", ledger.Intention{})
	w.intend("c-2", ledger.Intention{})
	w.submit("opledger:bad", geminisim.StateRunning)
	record := w.submit("opledger:c-2", geminisim.StateRunning)
	w.deliver(record, "m1", operation.Running)
	name := w.submit("opledger:c-1", geminisim.StateRunning)
	w.poison("intents/bad", `json_set(body, '$.version', 'many')`)
	w.poison(ledger.OperationPath(record.Key), unreadable)
	w.clock.Advance(grace)
	if got := w.passWith(reconcile.Options{}); got.Errors != 2 {
		t.Errorf("R6: %+v, want an error for each that cannot be read", got)
	}
	if intent := w.intent("c-1"); intent.Operation != name.Key {
		t.Errorf("R6: %+v", intent)
	}
	for _, c := range []struct {
		wait  time.Duration
		state ledger.IntentState
	}{{6*time.Hour - grace, ledger.IntentOpen}, {6 * time.Hour, ledger.IntentAbandoned}} { // the list has its batch
		w.clock.Advance(c.wait)
		w.logged()
		w.passWith(reconcile.Options{})
		if intent := w.intent("c-2"); intent.State != c.state {
			t.Errorf("R6: %+v, want %s", intent, c.state)
		}
	}
	w.says("unbound", "intents/c-2", "do not submit it again", string(record.Key))
}
