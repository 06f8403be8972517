package reconcile_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestTwoPassesAtOnce: two passes over a thousand due operations make no more look-ups than one, and each counts one attempt
// [R3, R6].
func TestTwoPassesAtOnce(t *testing.T) {
	t.Parallel()
	const due, passes = 1000, 2
	for name, submit := range map[string]func(*world) operation.Name{
		"R6: interactions": func(w *world) operation.Name { return w.interaction("a", geminisim.InteractionInProgress) },
		"R6: batches":      func(w *world) operation.Name { return w.submit("a", geminisim.StateRunning) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			fleet := w.fleet(submit(w), due)
			w.clock.Advance(grace)
			var group sync.WaitGroup
			var checked, running atomic.Int64
			for range passes {
				group.Go(func() {
					got, err := w.reconciler(w.ledger).Pass(t.Context())
					if err != nil || got.Errors != 0 || got.More {
						t.Errorf("R6: %+v %v", got, err)
					}
					checked.Add(int64(got.Checked))
					running.Add(int64(got.Running))
				})
			}
			group.Wait()
			if checked.Load() != due || running.Load() != due {
				t.Errorf("R6: together %d were asked about and %d run, want %d", checked.Load(), running.Load(), due)
			}
			if gets, lists := fleet.gets.Load(), fleet.lists.Load(); gets != due && lists > passes*due/100 || gets+lists > due {
				t.Errorf("R6: %d gets and %d lists for %d operations", gets, lists, due)
			}
			for resource, n := range w.lookups() {
				if n != 1 {
					t.Errorf("R6: %s was asked about %d times", resource, n)
				}
			}
			for filter := (ledger.Filter{Limit: 100}); ; {
				page, err := w.ledger.List(t.Context(), filter)
				if err != nil {
					t.Fatal(err)
				}
				for _, rec := range page.Items {
					if rec.Attempts != 1 {
						t.Fatalf("R3: %d attempts of %s", rec.Attempts, rec.Key)
					}
				}
				if filter.After = page.Next; page.Next.Path == "" {
					break
				}
			}
		})
	}
}

// A dying store takes only so many commits: the process behind it is dead then.
type dying struct {
	ledger.Store
	left atomic.Int64
}

var errDead = errors.New("the process is dead")

func (d *dying) Commit(ctx context.Context, writes ...ledger.Write) error {
	if d.left.Add(-1) < 0 {
		return errDead
	}
	return d.Store.Commit(ctx, writes...)
}

// TestKilled: wherever a pass dies, the next ones find everything ended, and plan each effect once [R6].
func TestKilled(t *testing.T) {
	t.Parallel()
	const due = 6
	for commits := range int64(2*due + 4) {
		w := newWorld(t)
		names := w.many(due)
		w.endAll(names, geminisim.InteractionCompleted)
		w.intend("c-1", ledger.Intention{})
		names = append(names, w.submit("opledger:c-1", geminisim.StateSucceeded))
		w.clock.Advance(grace)
		store := &dying{Store: w.store}
		store.left.Store(commits)
		if _, err := w.reconciler(w.over(store)).Pass(t.Context()); err != nil {
			t.Fatalf("after %d commits: %v", commits, err)
		}
		w.clock.Advance(interval)
		if got := w.passWith(reconcile.Options{}); got.More || got.Errors != 0 {
			t.Errorf("R6: after %d commits: %+v", commits, got)
		}
		for _, name := range names {
			story, err := w.ledger.Show(t.Context(), name.Key)
			if err != nil || story.Record.State != operation.Succeeded || len(story.Effects) != 1 {
				t.Errorf("R6: after %d commits: %+v %v", commits, story, err)
			}
		}
	}
}

// TestSlowLookUps: with ten thousand pending and a Gemini that does not answer, an overdue effect is handed over within one
// pass, and so is the rest of it given its time: an orphan is found and an intent given up [R6].
func TestSlowLookUps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	done := w.register("done", geminisim.StateRunning)
	w.outbox.Fail(errors.New("the queue is down"))
	w.deliver(done, "m1", operation.Succeeded)
	w.outbox.Fail(nil)
	w.intend("c-1", ledger.Intention{})
	w.clock.Advance(6 * time.Hour)
	w.intend("c-2", ledger.Intention{})
	orphan := w.submit("opledger:c-2", geminisim.StateRunning)
	w.copies(w.registered(w.interaction("a", geminisim.InteractionInProgress)), 10_000)
	w.clock.Advance(grace)
	w.inFront(func(_ http.ResponseWriter, r *http.Request) bool {
		if isList(r) {
			return false
		}
		<-r.Context().Done()
		return true
	})
	got := w.passWith(reconcile.Options{Budget: 2 * time.Second})
	if got.EffectsRequeued != 1 || !got.More || got.Errors != 0 || got.Due > 200 || got.Checked > 20 {
		t.Errorf("R6: %+v", got)
	}
	if sent := w.published(); !cmp.Equal(sent, []string{string(done.Key) + " publish"}) {
		t.Errorf("R5: published %v", sent)
	}
	if rec := w.record(orphan); !rec.Registered {
		t.Errorf("G6: not found: %+v", rec)
	}
	if intent := w.intent("c-1"); intent.State != ledger.IntentAbandoned {
		t.Errorf("G6: %+v", intent)
	}
}

// TestRetryAfterTheBudget: when Gemini wants to be left alone for longer than a pass lasts, the pass ends at once: what it did
// not ask about stays due, without an attempt, and is not even read [R6].
func TestRetryAfterTheBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.registered(w.interaction("a", geminisim.InteractionInProgress))
	w.copies(name, 2000)
	limited := geminisim.InteractionError(http.StatusTooManyRequests, "slow down")
	limited.Header = http.Header{"Retry-After": {"3600"}}
	limited.Times = -1
	w.sim.AnswerNext(geminisim.OpInteractionGet, "", limited)
	w.clock.Advance(grace)
	store := ledgertest.Count(w.store)
	began := time.Now()
	got, err := w.reconciler(w.over(store)).Pass(t.Context())
	if err != nil || !got.More || got.Errors != 0 || got.Checked == 0 || got.Checked != got.Unknown {
		t.Errorf("R6: %+v %v", got, err)
	}
	if asked := w.sim.Stats().InteractionGets; asked != got.Checked || asked > 8 {
		t.Errorf("R6: asked %d times after a 429, %+v", asked, got)
	}
	if n := store.Counts(); n.Read > 200 || time.Since(began) > 5*time.Second {
		t.Errorf("R6: %+v, %v for nothing", n, time.Since(began))
	}
	w.sim.ClearAnswers()
	page, err := w.ledger.DueOperations(t.Context(), w.clock.Now(), ledger.Cursor{}, 5000)
	if err != nil || len(page.Items) != 2001-got.Checked {
		t.Errorf("R6: %d are still due of %d, %v", len(page.Items), 2001-got.Checked, err)
	}
	for _, due := range page.Items {
		if due.Record.Attempts != 0 {
			t.Fatalf("R3: %d attempts of %s", due.Record.Attempts, due.Record.Key)
		}
	}
}

// TestRetryAfterWithinTheBudget: a shorter one is waited out, and then everything is asked about.
func TestRetryAfterWithinTheBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.many(20)
	limited := geminisim.InteractionError(http.StatusTooManyRequests, "slow down")
	limited.Header = http.Header{"Retry-After": {"1"}}
	w.sim.AnswerNext(geminisim.OpInteractionGet, "", limited)
	w.clock.Advance(grace)
	began := time.Now()
	w.pass(reconcile.Summary{Due: 20, Checked: 20, Running: 19, Unknown: 1})
	if took := time.Since(began); took < time.Second {
		t.Errorf("R6: it took %v, although Gemini asked for a pause of 1s", took)
	}
}
