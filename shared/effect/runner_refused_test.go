package effect_test

import (
	"context"
	"errors"
	"testing"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
)

var errStore = errors.New("the store says no")

// A mute store answers no read.
type muteStore struct{ ledger.Store }

func (muteStore) Get(context.Context, ...ledger.Path) (ledger.Snapshot, error) {
	return ledger.Snapshot{}, errStore
}

// A refusing store accepts no write.
type refusingStore struct{ ledger.Store }

func (refusingStore) Commit(context.Context, ...ledger.Write) ([]ledger.Token, error) {
	return nil, errStore
}

// TestDeclineOfNothing: what cannot be replayed is skipped with the reason, also where the effect may
// not run now. A message about an unknown effect is redelivered where the ledger cannot be read.
func TestDeclineOfNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		m := ledger.Message{Operation: "batches/none", Effect: name, ID: "r-1"}
		report, err := w.runner(succeeds).Decline(w.ctx, m, effect.Paused)
		if err != nil || report.Outcome != effect.Skipped || !errors.Is(report.Cause, ledger.ErrReplay) {
			t.Errorf("G5: %+v, %v", report, err)
		}
		down := refusingStore{w.store}
		m.Operation = key
		if report, err := w.runnerOver(down, succeeds).Decline(w.ctx, m, effect.Paused); !errors.Is(err, errStore) {
			t.Errorf("G5: what an operator asked for is lost: %+v, %v", report, err)
		}
		if report, err := effect.NewRunner(w.over(muteStore{w.store}), nil).Run(w.ctx, message); !errors.Is(err, errStore) {
			t.Errorf("S1: %+v, %v", report, err)
		}
	})
}
