package items_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/itemworld"
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
		{"fails", itemworld.ErrTarget, "PENDING done 0 failed 0 of 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := itemworld.New(t, itemworld.Many(400)).End()
			told, stop := context.WithCancel(t.Context())
			defer stop()
			var begun atomic.Int64
			all := make(chan struct{})
			report := w.Run(effect.WithStop(t.Context(), told), func(context.Context, effect.Task) ([]ledger.Write, error) {
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
			if e := w.Stands(test.want); e.Attempts != 0 {
				t.Errorf("%d attempts", e.Attempts)
			}
			c := itemworld.NewTally()
			w.Store.Advance(w.Settings.ClaimTTL)
			w.Run(t.Context(), c.That(itemworld.Succeeds), effect.Finished)
			w.Stands("DONE done 400 failed 0 of 400")
		})
	}
}
