package reconcile_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/test/harness"
)

// TestLookUpsOfADay: a batch that runs for 24 hours is looked up 58 times at most where a webhook
// delivers, and in every interval where none does, of which a run outside of the gate has three hours. An end whose
// delivery is lost is found within the widened interval and one more [R6].
func TestLookUpsOfADay(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	polled := day
	if !harness.Thorough(t) {
		polled = 3 * time.Hour
	}
	intervals := int(polled / interval)
	for _, c := range []struct {
		about       string
		dynamic     bool
		delivered   bool
		least, most int
		latest      time.Duration // after the end
		runs        time.Duration
	}{
		{"its webhook comes", true, true, 48, 58, 0, day},
		{"its webhook is lost", true, false, 49, 59, time.Hour + interval, day},
		{"no webhook", false, false, intervals, intervals + 1, interval, polled},
		{"10 minutes, its webhook is lost", true, false, 3, 3, interval, 10 * time.Minute},
		{"3 hours, its webhook is lost", true, false, 15, 30, 15*time.Minute + interval, 3 * time.Hour},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			name := w.register("a", geminisim.StateRunning)
			began := w.clock.Now()
			pass := func() {
				w.passWith(reconcile.Options{Dynamic: c.dynamic})
				w.clock.Advance(interval)
			}
			w.clock.Advance(grace)
			for w.clock.Now().Sub(began) < c.runs {
				pass()
			}
			w.clock.Advance(began.Add(c.runs).Sub(w.clock.Now()) + time.Second) // the passes go on from here
			w.endAll([]operation.Name{name}, geminisim.StateSucceeded)
			ended := w.clock.Now()
			if c.delivered {
				w.deliver(name, "m1", operation.Succeeded)
			}
			for !w.record(name).Settled() {
				pass()
			}
			n, late := w.lookups()[string(name.Key)], w.record(name).SettledAt.Sub(ended)
			t.Logf("%d look-ups, known %v after the end", n, late)
			if n < c.least || n > c.most || late > c.latest {
				t.Errorf("R6: %d look-ups, want %d to %d; known %v after the end, want %v at most",
					n, c.least, c.most, late, c.latest)
			}
		})
	}
}

// aged registers n interactions that have run for a day, and looks them up, so that each is due
// again in an hour. It returns when the hour is over.
func (w *world) aged(n int) []operation.Name {
	w.Helper()
	var names []operation.Name
	for i := range n {
		name := w.interaction(fmt.Sprint("aged", i), geminisim.InteractionInProgress)
		r := ledger.Registration{Name: name, SubmittedAt: w.clock.Now().Add(-24 * time.Hour)}
		if _, err := w.ledger.Operations.Register(w.Context(), r); err != nil {
			w.Fatal(err)
		}
		names = append(names, name)
	}
	if got := w.passWith(reconcile.Options{Dynamic: true}); got.Running != n {
		w.Fatalf("%+v", got)
	}
	w.clock.Advance(interval)
	if got := w.passWith(reconcile.Options{Dynamic: true}); got.Due != 0 {
		w.Fatalf("after an interval: %+v", got)
	}
	w.clock.Advance(time.Hour - interval)
	return names
}

// TestKilledBeforeTheAnswer: wherever a pass dies, an operation that is looked up once an hour is
// looked up again by the next pass [R6].
func TestKilledBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	const due = 3
	for commits := range int64(2*due + 3) { // a mark, moves, ends, and the end of the mark
		w := newWorld(t)
		names := w.aged(due)
		w.endAll(names, geminisim.InteractionCompleted)
		store := &dying{Store: w.store}
		store.left.Store(commits)
		o := reconcile.Options{Ledger: w.over(store), Gemini: w.client, Dynamic: true, Log: logging.New(w.log, "p")}
		if _, err := reconcile.New(o).Pass(t.Context()); err != nil {
			t.Fatalf("after %d commits: %v", commits, err)
		}
		w.clock.Advance(interval)
		if got := w.passWith(reconcile.Options{Dynamic: true}); got.More || got.Errors != 0 {
			t.Errorf("R6: after %d commits: %+v", commits, got)
		}
		for _, name := range names {
			story, err := w.ledger.Operations.Show(t.Context(), name.Key)
			if err != nil || story.Record.State != operation.Succeeded || len(story.Effects) != 1 {
				t.Errorf("R6: after %d commits: %+v %v", commits, story, err)
			}
		}
	}
}

// TestCutOffAfterTheMove: a look-up that the end of the pass's time cuts off is made again after one interval
// [R6].
func TestCutOffAfterTheMove(t *testing.T) {
	t.Parallel()
	inBubble(t, setting{}, func(t *testing.T, w *world) {
		name := w.aged(1)[0]
		asked := make(chan struct{}, 1)
		w.inFront(func(_ http.ResponseWriter, r *http.Request) bool {
			asked <- struct{}{}
			<-r.Context().Done()
			return true
		})
		if got := w.passWith(reconcile.Options{Dynamic: true, Budget: 4 * time.Second}); !got.More || got.Unknown != 1 {
			t.Errorf("R6: %+v", got)
		}
		<-asked
		w.inFront(nil)
		w.pass(reconcile.Summary{}) // not at once
		w.clock.Advance(interval)
		w.pass(reconcile.Summary{Due: 1, Checked: 1, Running: 1, Stuck: 1})
		if rec := w.record(name); rec.Condition != "" {
			t.Errorf("R6: %+v", rec)
		}
	})
}

// TestWidensWhereTheWebhookDelivers: look-ups become rarer only where Gemini's webhook is enabled or
// webhooks are dynamic [R6].
func TestWidensWhereTheWebhookDelivers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about string
		set   func(*world, *reconcile.Options)
		want  time.Duration
	}{
		{"no webhook", func(*world, *reconcile.Options) {}, interval},
		{"dynamic webhooks", func(_ *world, o *reconcile.Options) { o.Dynamic = true }, time.Hour},
		{"enabled", func(w *world, o *reconcile.Options) { o.Endpoint, _ = w.endpoint(webhooks.Enabled) }, time.Hour},
		{"disabled by failures", func(w *world, o *reconcile.Options) {
			o.Endpoint, _ = w.endpoint(webhooks.DisabledByFailures)
		}, interval},
		{"enabled, and which is not known", func(w *world, o *reconcile.Options) {
			o.Endpoint, _ = w.endpoint(webhooks.Enabled)
			o.Endpoint.URL = ""
		}, interval},
		{"gone", func(w *world, o *reconcile.Options) { o.Endpoint, _ = w.endpoint("") }, interval},
		{"cannot be read", func(w *world, o *reconcile.Options) {
			o.Endpoint, _ = w.endpoint(webhooks.Enabled)
			w.sim.AnswerNext(geminisim.OpWebhook, "", geminisim.ErrorAnswer(http.StatusServiceUnavailable, "later"))
		}, interval},
	} {
		w := newWorld(t)
		name := w.aged(1)[0]
		var o reconcile.Options
		c.set(w, &o)
		start := w.clock.Now()
		w.passWith(o)
		if in := w.record(name).DueAt.Sub(start); in > c.want || in < c.want-interval/5-time.Second {
			t.Errorf("R6: %s: due again in %v, want %v", c.about, in, c.want)
		}
	}
}

// TestAnnounced: the log tells the ends that Gemini has an event for, while a webhook delivers [R4].
func TestAnnounced(t *testing.T) {
	t.Parallel()
	batch := func(state geminisim.State) func(*world) operation.Name {
		return func(w *world) operation.Name { return w.submit("a", state) }
	}
	interaction := func(state geminisim.State) func(*world) operation.Name {
		return func(w *world) operation.Name { return w.interaction("a", state) }
	}
	for _, c := range []struct {
		about  string
		submit func(*world) operation.Name
		want   bool
	}{
		{"a success", batch(geminisim.StateSucceeded), true},
		{"a failed batch", batch(geminisim.StateFailed), true},
		{"an expired batch", batch(geminisim.StateExpired), true},
		{"a cancelled batch", batch(geminisim.StateCancelled), false},
		{"a failed video", func(w *world) operation.Name { return w.video("a", geminisim.StateFailed) }, false},
		{"a failed interaction", interaction(geminisim.InteractionFailed), true},
		{"an incomplete interaction", interaction(geminisim.InteractionIncomplete), false},
		{"an interaction over budget", interaction(geminisim.InteractionBudgetExceeded), false},
	} {
		for _, delivers := range []bool{true, false} {
			w := newWorld(t)
			w.registered(c.submit(w))
			w.clock.Advance(grace)
			if got := w.passWith(reconcile.Options{Dynamic: delivers}); got.Settled != 1 {
				t.Errorf("%s: %+v", c.about, got)
			}
			for _, line := range w.logged() {
				if line["event"] == "ingest" && line["announced"] != (c.want && delivers) {
					t.Errorf("R4: %s, a webhook delivers %v: %v", c.about, delivers, line)
				}
			}
		}
	}
}

// TestSettledSeconds: the look-up that settles a registered operation logs how long after its submission, and no other
// one does.
func TestSettledSeconds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ended, runs := w.register("a", geminisim.StateSucceeded), w.register("b", geminisim.StateRunning)
	w.clock.Advance(grace)
	w.passWith(reconcile.Options{})
	seconds := map[any]any{}
	for _, line := range w.logged() {
		if line["event"] == "ingest" {
			seconds[line["operation"]] = line["settled_seconds"]
		}
	}
	if len(seconds) != 2 || seconds[string(ended.Key)] != grace.Seconds() || seconds[string(runs.Key)] != nil {
		t.Errorf("%v", seconds)
	}
}

// TestStoreFailsAfterTheMove: an answer that could not be stored is asked for again after one
// interval [R6].
func TestStoreFailsAfterTheMove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.aged(1)[0]
	w.endAll([]operation.Name{name}, geminisim.InteractionCompleted)
	l := w.over(failing{w.store, string(ledger.OperationPath(name.Key)) + "/deliveries"})
	o := reconcile.Options{Ledger: l, Gemini: w.client, Dynamic: true, Log: logging.New(w.log, "p")}
	got, err := reconcile.New(o).Pass(t.Context())
	if err != nil || got.Errors != 1 || got.Settled != 0 {
		t.Errorf("R6: %+v, %v", got, err)
	}
	w.clock.Advance(interval)
	w.pass(reconcile.Summary{Due: 1, Checked: 1, Settled: 1, Stuck: 1})
}
