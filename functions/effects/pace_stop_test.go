package effects_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
)

// TestStopBeginsNoAttempt: a process that is told to stop begins no attempt. A message that waits
// for a turn or for a back-off is acknowledged at once, and so is one that comes afterwards. The
// sweep hands all of them over again [S4, R5].
func TestStopBeginsNoAttempt(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		const n = 4
		w.plan(n)
		messages := w.topic.Drain()
		told, stop := context.WithCancel(w.Context())
		ctx := effect.WithStop(w.Context(), told)
		var begun atomic.Int64
		f := w.process(effects.Options{Slots: 20, Concurrency: map[string]int{"publish": 1}}, map[string]effect.HandlerFunc{
			"publish": func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
				begun.Add(1)
				if task.Operation == messages[0].Operation {
					return nil, effect.RetryAfter(errTarget, 10*time.Second)
				}
				time.Sleep(3 * time.Second)
				return nil, nil
			},
		})
		var group sync.WaitGroup
		outcomes := make([]effect.Outcome, n)
		send := func(i int) {
			group.Go(func() {
				report, err := f.Run(ctx, messages[i])
				if err != nil {
					w.Error(err)
				}
				outcomes[i] = report.Outcome
			})
			synctest.Wait()
		}
		send(0) // waits for its back-off
		send(1) // is in progress
		send(2) // waits for its turn
		before, began := begun.Load(), time.Now()
		stop()
		send(3)
		group.Wait()
		want := []effect.Outcome{effect.Failed, effect.Finished, effect.Busy, effect.Busy}
		for i, outcome := range outcomes {
			if outcome != want[i] {
				w.Errorf("message %d: %s, want %s", i, outcome, want[i])
			}
		}
		if took := time.Since(began); begun.Load() != before || took > 3*time.Second {
			w.Errorf("%d were begun after the signal; it took %v", begun.Load()-before, took)
		}
		if send(3); outcomes[3] != effect.Busy || begun.Load() != before { // though it is its turn
			w.Errorf("when nothing is in progress: %s", outcomes[3])
		}
		group.Wait()
		if summary := w.pass(); summary.EffectsRequeued != 3 {
			w.Errorf("%+v", summary)
		}
	})
}
