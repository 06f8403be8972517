package reconcile_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
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

// TestAlertedBeforeAbandoned: an intent is abandoned only after its alert is planned, so that a
// pass that dies in between leaves both to the next one [R4, R6].
func TestAlertedBeforeAbandoned(t *testing.T) {
	t.Parallel()
	for below, said := range map[string]int{"operations/intents:": 0, "intents/": 1} {
		w := newWorldWith(t, setting{alerts: true})
		w.intend("c-1", ledger.Intention{})
		w.clock.Advance(stuckAfter)
		got, err := w.reconciler(w.over(failing{w.store, below})).Pass(t.Context())
		if err != nil || got.Errors != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		if sent := w.published(); len(sent) != said {
			t.Errorf("R4: %s cannot be written: published %v, want %d", below, sent, said)
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
