package effect_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
)

// TestStopBeginsNoItem: a run whose process is told to stop begins no item more. Those in progress
// end and are recorded, the rest is given back, and no attempt is counted, also where no item
// succeeded [S4].
func TestStopBeginsNoItem(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"succeeds", nil, "PENDING done 8 failed 0 of 0"},
		{"fails", errTarget, "PENDING done 0 failed 0 of 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newItemsWorld(t, many(400)).end()
			told, stop := context.WithCancel(t.Context())
			defer stop()
			var begun atomic.Int64
			all := make(chan struct{})
			report := w.run(effect.WithStop(t.Context(), told), func(context.Context, effect.Task) ([]ledger.Write, error) {
				if begun.Add(1) == 8 { // as many as are performed at once
					stop()
					close(all)
				}
				<-all
				return nil, test.err
			}, effect.Continued)
			if begun.Load() != 8 || !report.Stopped {
				t.Errorf("%d items were begun, %+v", begun.Load(), report)
			}
			if e := w.stands(test.want); e.Attempts != 0 {
				t.Errorf("%d attempts", e.Attempts)
			}
			c := newTally()
			w.store.Advance(w.settings.ClaimTTL)
			w.run(t.Context(), c.that(succeeds), effect.Finished)
			w.stands("DONE done 400 failed 0 of 400")
		})
	}
}

// TestStopping: without a process that can be told to stop, nothing ever says so.
func TestStopping(t *testing.T) {
	t.Parallel()
	told, stop := context.WithCancelCause(t.Context())
	within := effect.WithStop(t.Context(), told)
	if effect.Stopping(t.Context()).Done() != nil || effect.Stopping(within).Err() != nil {
		t.Error("it stops")
	}
	stop(errors.New("SIGTERM"))
	if effect.Stopping(within).Err() == nil || within.Err() != nil {
		t.Error("it does not stop, or ends what is in progress")
	}
}
