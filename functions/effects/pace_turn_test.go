package effects_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
)

// TestConcurrency: of one effect at most a number is in flight in a process. The others wait for
// their turn, and effects of another name do not wait for them [S10].
func TestConcurrency(t *testing.T) {
	onLine(t, []string{"publish", "other"}, func(w *line) {
		const n, most = 9, 3
		w.plan(n)
		var flying, peak, done atomic.Int64
		f := w.process(effects.Options{Slots: 4 * n, Concurrency: map[string]int{"publish": most, "other": 1}},
			map[string]effect.HandlerFunc{
				"publish": func(context.Context, effect.Task) ([]ledger.Write, error) {
					peak.Store(max(peak.Load(), flying.Add(1)))
					defer flying.Add(-1)
					time.Sleep(10 * time.Second)
					done.Add(1)
					return nil, nil
				},
				"other": func(context.Context, effect.Task) ([]ledger.Write, error) { return nil, nil },
			})
		began := time.Now()
		var group sync.WaitGroup
		for _, m := range w.topic.Drain() {
			group.Go(func() {
				if got := w.push(f, m); !strings.HasPrefix(got, `200 {"outcome":"finished"`) {
					w.Errorf("%s: answered %s", m.Effect, got)
				}
				if took := time.Since(began); m.Effect == "other" && took > time.Second {
					w.Errorf("the other effect took %v", took)
				}
			})
		}
		group.Wait()
		if took := time.Since(began); peak.Load() != most || done.Load() != n || took != n/most*10*time.Second {
			w.Errorf("%d at once, %d in %v", peak.Load(), done.Load(), took)
		}
	})
}

// TestBusy: a message that finds neither a turn nor a slot to wait in is acknowledged and counted.
// The sweep sends it again within an interval, however often that happens [S10, R5, S9].
func TestBusy(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		const n = 8
		w.plan(n)
		f := w.process(effects.Options{Slots: 4, Concurrency: map[string]int{"publish": 1}}, map[string]effect.HandlerFunc{
			"publish": func(context.Context, effect.Task) ([]ledger.Write, error) {
				time.Sleep(time.Second)
				return nil, nil
			},
		})
		var finished []int
		for left := n; left > 0; w.pass() {
			var group sync.WaitGroup
			for _, m := range w.topic.Drain() {
				group.Go(func() {
					if got := w.push(f, m); !strings.HasPrefix(got, `200 `) {
						w.Errorf("answered %s", got)
					}
				})
			}
			group.Wait()
			counted := w.lines()
			if counted["effect busy"] != left-counted["effect finished"] {
				w.Fatalf("of %d: %v", left, counted)
			}
			finished = append(finished, counted["effect finished"])
			left -= counted["effect finished"]
		}
		if want := []int{3, 3, 2}; !slices.Equal(finished, want) {
			w.Errorf("finished in each pass: %v, want %v", finished, want)
		}
	})
}

// TestBusyReplay: what an operator's message asks for while the effect is busy is recorded in the
// ledger at once, and the message is acknowledged [G5].
func TestBusyReplay(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(2)
		w.die("batches/0001")
		release := make(chan struct{})
		f := w.process(effects.Options{Concurrency: map[string]int{"publish": 1}}, map[string]effect.HandlerFunc{
			"publish": func(context.Context, effect.Task) ([]ledger.Write, error) { <-release; return nil, nil },
		})
		var group sync.WaitGroup
		group.Go(func() { w.push(f, first("batches/0000")) })
		synctest.Wait()
		report, err := f.Run(w.Context(), ledger.Message{Operation: "batches/0001", Effect: "publish", ID: "1"})
		if err != nil || report.Outcome != effect.Busy || report.Replay.Outcome != ledger.Reopened || report.Again() {
			w.Errorf("%+v %v", report, err)
		}
		close(release)
		group.Wait()
		w.topic.Drain()
		w.pass()
		if again, got := w.deliver(f); again != 0 || got[effect.Finished] != 1 {
			w.Errorf("%d again, %v", again, got)
		}
	})
}

// TestDayWithoutEffects: after a day without the function each effect has had some thirty messages,
// and not one for each pass. They are performed once each when it is back [R5].
func TestDayWithoutEffects(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		const n = 5
		w.plan(n)
		for range 24 * time.Hour / w.settings.Interval {
			w.pass()
		}
		f := w.process(effects.Options{Slots: 20, Concurrency: map[string]int{"publish": 10}}, map[string]effect.HandlerFunc{
			"publish": func(context.Context, effect.Task) ([]ledger.Write, error) { return nil, nil },
		})
		again, got := w.deliver(f)
		if sent := got[effect.Finished] + got[effect.Skipped]; again != 0 || got[effect.Finished] != n || sent > 28*n {
			w.Errorf("%d again, %v", again, got)
		}
	})
}
