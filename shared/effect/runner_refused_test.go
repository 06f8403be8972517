package effect_test

import (
	"context"
	"errors"
	"testing"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A mute store answers no read.
type muteStore struct{ ledger.Store }

func (muteStore) Get(context.Context, ...ledger.Path) (ledger.Snapshot, error) {
	return ledger.Snapshot{}, errStore
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
		down := &refusingStore{Store: w.store}
		down.down.Store(true)
		m.Operation = key
		if report, err := w.runnerOver(down, succeeds).Decline(w.ctx, m, effect.Paused); !errors.Is(err, errStore) {
			t.Errorf("G5: what an operator asked for is lost: %+v, %v", report, err)
		}
		if report, err := effect.NewRunner(w.over(muteStore{w.store}), nil).Run(w.ctx, message); !errors.Is(err, errStore) {
			t.Errorf("S1: %+v, %v", report, err)
		}
	})
}

// TestSpecForms: null leaves a field as it is.
func TestSpecForms(t *testing.T) {
	t.Parallel()
	text := "- {name: a, on: [FAILED], do: log, timeout: ~, concurrency: null, url: null}\n"
	specs, err := effect.ParseSpecs([]byte(text), operation.Transitions{})
	if err != nil || len(specs) != 1 || specs[0].Timeout != 0 || specs[0].Concurrency != 0 {
		t.Errorf("%+v, %v", specs, err)
	}
}
