package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// A downStore notes each kind of call, and fails those of one kind.
type downStore struct {
	ledger.Store
	down string // empty: none
	err  error

	mu    sync.Mutex
	calls map[string]bool
}

// call notes a call about paths without their ids: "Commit operations operations/effects".
func (s *downStore) call(method string, paths ...ledger.Path) error {
	words := []string{method}
	for _, path := range paths {
		var collections []string
		for i, part := range strings.Split(string(path), "/") {
			if i%2 == 0 {
				collections = append(collections, part)
			}
		}
		words = append(words, strings.Join(collections, "/"))
	}
	slices.Sort(words[1:])
	call := strings.Join(slices.Compact(words), " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[call] = true
	if call == s.down {
		return s.err
	}
	return nil
}

func (s *downStore) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	if err := s.call("Get", paths...); err != nil {
		return ledger.Snapshot{}, err
	}
	return s.Store.Get(ctx, paths...)
}

func (s *downStore) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	if err := s.call("Query by "+q.OrderBy+" "+q.Collection, q.Under); err != nil {
		return nil, err
	}
	return s.Store.Query(ctx, q)
}

func (s *downStore) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	paths := make([]ledger.Path, len(writes))
	for i, write := range writes {
		paths[i] = write.Path
	}
	if err := s.call("Commit", paths...); err != nil {
		return nil, err
	}
	return s.Store.Commit(ctx, writes...)
}

// A busyWorld is one in which a pass has all to do that it can.
type busyWorld struct {
	*world
	options reconcile.Options
	names   map[string]operation.Name // of what is registered or found in the end
}

func busy(t *testing.T) *busyWorld {
	t.Helper()
	w := newWorldWith(t, setting{alerts: true})
	running, silent := w.video("running", geminisim.VideoRunning), w.video("silent", geminisim.VideoRunning)
	delivered, ended := w.video("delivered", geminisim.VideoSucceeded), w.submit("ended", geminisim.StateSucceeded)
	found, listed := w.video("found", geminisim.VideoSucceeded), w.submit("opledger:listed", geminisim.StateSucceeded)
	kept, strange := w.submit("opledger:kept", geminisim.StateRunning), w.submit("strange", geminisim.StateRunning)
	w.registered(running)
	w.registered(silent)
	w.clock.Advance(grace)
	w.hide(running, 1)
	w.pass(reconcile.Summary{Due: 2, Checked: 2, Missing: 1, Running: 1}) // it has a condition from now on
	w.outbox.Fail(errors.New("the queue is down"))
	w.deliver(w.registered(delivered), "m1", operation.Succeeded)
	w.outbox.Fail(nil)
	w.registered(ended)
	for _, id := range []string{"over", "named", "listed", "kept"} {
		w.intend(id, ledger.Intention{})
	}
	w.keep("named", found)
	w.clock.Advance(stuckAfter)
	w.intend("fresh", ledger.Intention{Collection: operation.Operations})
	w.clock.Advance(interval)
	w.hide(silent, -1)
	w.registered(kept)
	at, _ := w.endpoint(webhooks.Disabled)
	w.logged()
	return &busyWorld{
		world:   w,
		options: reconcile.Options{Endpoint: at, Adopt: true, Gemini: w.client, Log: logging.New(w.log, "p")},
		names: map[string]operation.Name{
			"running": running, "silent": silent, "delivered": delivered, "ended": ended,
			"found": found, "listed": listed, "kept": kept, "strange": strange,
		},
	}
}

// over makes a pass over a store that refuses one kind of call, and returns all kinds of calls.
func (b *busyWorld) over(down string, err error) (map[string]bool, reconcile.Summary, error) {
	store := &downStore{Store: b.store, down: down, err: err, calls: map[string]bool{}}
	o := b.options
	o.Ledger = b.world.over(store)
	got, err := reconcile.New(o).Pass(b.Context())
	return store.calls, got, err
}

// ends returns what became of all.
func (b *busyWorld) ends() (all []string) {
	for _, id := range []string{"over", "named", "listed", "kept", "fresh"} {
		all = append(all, fmt.Sprint(id, " ", b.intent(id).State))
	}
	for _, label := range slices.Sorted(maps.Keys(b.names)) {
		name := b.names[label]
		story, err := b.ledger.Operations.Show(b.Context(), name.Key)
		if err != nil {
			b.Fatal(err)
		}
		rec := story.Record
		all = append(all, fmt.Sprintf("%s %s, %q, %q", label, rec.State, rec.Condition, rec.Effects["publish"]))
	}
	return all
}

// TestEachCallThatFails: where the store refuses one kind of call, the pass counts an error or ends with
// it. Once the store accepts it again, later passes do what was left [R6].
func TestEachCallThatFails(t *testing.T) {
	t.Parallel()
	after := func(b *busyWorld) []string {
		for range 2 {
			b.clock.Advance(interval)
			b.passWith(b.options)
		}
		return b.ends()
	}
	undisturbed := busy(t)
	calls, got, err := undisturbed.over("", nil)
	if err != nil || got.Errors != 0 || got.More || len(calls) < 15 {
		t.Fatalf("%+v %v, after calls %v", got, err, calls)
	}
	want := []string{
		"over ABANDONED", "named BOUND", "listed BOUND", "kept BOUND", "fresh OPEN",
		`delivered SUCCEEDED, "", "open"`, `ended SUCCEEDED, "", "open"`, `found SUCCEEDED, "", "open"`,
		`kept RUNNING, "", ""`, `listed SUCCEEDED, "", "open"`, `running RUNNING, "", ""`,
		`silent RUNNING, "not-found", ""`, `strange RUNNING, "", ""`,
	}
	if diff := cmp.Diff(want, after(undisturbed)); diff != "" {
		t.Fatalf("R6: (-want +got):\n%s", diff)
	}
	down := errors.New("the store is down")
	for call := range calls {
		t.Run("R6: "+call, func(t *testing.T) {
			t.Parallel()
			b := busy(t)
			if _, got, err := b.over(call, down); err == nil && got.Errors == 0 {
				t.Errorf("R6: %+v, and the store had refused a call", got)
			}
			if diff := cmp.Diff(want, after(b)); diff != "" {
				t.Errorf("R6: passes without the fault do not make up for it (-want +got):\n%s", diff)
			}
		})
	}
}
