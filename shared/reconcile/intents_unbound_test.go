package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// A failing store refuses commits that write below a path.
type failing struct {
	ledger.Store
	below string
}

func (s failing) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	for _, write := range writes {
		if strings.HasPrefix(string(write.Path), s.below) {
			return nil, errors.New("the store is down")
		}
	}
	return s.Store.Commit(ctx, writes...)
}

// TestAlertedAsAbandoned: an intent is abandoned in the commit that plans its alert, so that a pass that
// dies leaves neither or both [R4, R6].
func TestAlertedAsAbandoned(t *testing.T) {
	t.Parallel()
	for _, below := range []string{"operations/intents:", "intents/"} {
		w := newWorldWith(t, setting{alerts: true})
		w.intend("c-1", ledger.Intention{})
		w.clock.Advance(stuckAfter)
		got, err := w.reconciler(w.over(failing{w.store, below})).Pass(t.Context())
		if err != nil || got.Errors != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		if sent, logged := w.published(), w.alerted(); len(sent)+len(logged) > 0 {
			t.Errorf("R4: %s cannot be written: published %v, logged %v", below, sent, logged)
		}
		if intent := w.intent("c-1"); intent.State != ledger.IntentOpen {
			t.Errorf("R4: %s cannot be written: %+v", below, intent)
		}
		w.passWith(reconcile.Options{})
		if sent := w.published(); len(sent) != 1 || w.intent("c-1").State != ledger.IntentAbandoned {
			t.Errorf("R4: the next pass: published %v, %+v", sent, w.intent("c-1"))
		}
	}
}

// TestEachAbandonmentIsAlerted: an intent that is given up, renewed, and given up again has two alerts,
// however soon the second comes, with a rule as without one [R4, G6].
func TestEachAbandonmentIsAlerted(t *testing.T) {
	t.Parallel()
	for _, rule := range []bool{false, true} {
		w := newWorldWith(t, setting{alerts: rule})
		for n := range 3 {
			w.decides("c-1", ledger.MaySubmit)
			w.clock.Advance(stuckAfter)
			w.passWith(reconcile.Options{})
			var want []string
			if rule {
				want = []string{fmt.Sprintf("page@unbound-%d", n+1)}
			}
			logged := w.alerted()
			if sent := w.pages(); !cmp.Equal(sent, want) || !cmp.Equal(logged, []string{"intents/c-1 unbound"}) {
				t.Errorf("R4: time %d, with a rule %v: published %v, want %v; logged %v", n+1, rule, sent, want, logged)
			}
		}
	}
}

// A late store lets something happen right before the first commit below a path.
type late struct {
	ledger.Store
	below string
	first *sync.Once
	then  func()
}

func (s late) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	for _, write := range writes {
		if strings.HasPrefix(string(write.Path), s.below) {
			s.first.Do(s.then)
		}
	}
	return s.Store.Commit(ctx, writes...)
}

// TestBoundIsNotAlerted: of an intent that is bound after the pass has found it nothing is alerted [R4].
func TestBoundIsNotAlerted(t *testing.T) {
	t.Parallel()
	for _, rule := range []bool{false, true} {
		w := newWorldWith(t, setting{alerts: rule})
		w.intend("c-1", ledger.Intention{})
		w.clock.Advance(stuckAfter)
		store := late{w.store, "intents/", new(sync.Once), func() {
			name := operation.Name{Key: "batches/a", Resource: "batches/a"}
			_, err := w.ledger.Operations.Register(t.Context(), ledger.Registration{
				Name: name, Submission: operation.Submission{CorrelationID: "c-1"},
			})
			if err != nil {
				t.Error(err)
			}
		}}
		if got, err := w.reconciler(w.over(store)).Pass(t.Context()); err != nil || got.Errors > 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		if sent, logged := w.published(), w.alerted(); len(sent)+len(logged) > 0 {
			t.Errorf("R4: with a rule %v: published %v, logged %v", rule, sent, logged)
		}
		w.bound("c-1")
	}
}
