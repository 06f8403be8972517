package reconcile_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// A nthStore refuses one commit, the first being 1.
type nthStore struct {
	ledger.Store
	nth, commits int
}

func (s *nthStore) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	if s.commits++; s.commits == s.nth {
		return nil, errors.New("the store is down")
	}
	return s.Store.Commit(ctx, writes...)
}

// TestEachCommitThatFails: whichever one commit of a pass the store refuses, the pass counts one error.
func TestEachCommitThatFails(t *testing.T) {
	t.Parallel()
	for about, c := range map[string]struct {
		arrange func(w *world)
		commits int
	}{
		"an old operation, an inconclusive answer": {func(w *world) {
			w.aged(1)
			w.inFront(func(rw http.ResponseWriter, _ *http.Request) bool {
				http.Error(rw, `{"error":{"code":403,"message":"no rights"}}`, http.StatusForbidden)
				return true
			})
		}, 5}, // the mark, the claim, the condition, the mark's end, and the report
		"an open intent": {func(w *world) {
			w.intend("c-1", ledger.Intention{Collection: operation.Operations})
			w.keep("c-1", named(w, "operations/unknown"))
			w.clock.Advance(interval)
		}, 2}, // the claim and the report
	} {
		for nth := range c.commits + 1 { // 0: none
			w := newWorld(t)
			c.arrange(w)
			store := &nthStore{Store: w.store, nth: nth}
			got, err := reconcile.New(reconcile.Options{
				Ledger: w.over(store), Gemini: w.client, Dynamic: true, Log: logging.New(w.log, "p"),
			}).Pass(t.Context())
			if err != nil || got.Errors != min(nth, 1) || nth == 0 && store.commits != c.commits {
				t.Errorf("R6: %s, commit %d of %d: %+v, %v", about, nth, store.commits, got, err)
			}
		}
	}
}

// TestConditionEnds: an operation that Gemini did not find and finds again, as it was, has no condition
// any more [R4].
func TestConditionEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.registered(w.video("v", geminisim.VideoRunning))
	for _, c := range []struct {
		hidden    int
		condition string
	}{{0, ""}, {1, "not-found"}, {0, ""}} {
		if c.hidden > 0 {
			w.hide(name, c.hidden)
		}
		w.clock.Advance(interval)
		w.passWith(reconcile.Options{})
		if rec := w.record(name); rec.State != operation.Running || rec.Condition != c.condition {
			t.Errorf("R4: %s, condition %q, want %q", rec.State, rec.Condition, c.condition)
		}
	}
}
