package effects_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
)

// process returns a function with slots, over handlers.
func (w *line) process(o effects.Options, handlers map[string]effect.HandlerFunc) effects.Function {
	all := map[string]effect.Handler{}
	for name, handler := range handlers {
		all[name] = handler
	}
	o.Runner, o.Now, o.Log = effect.NewRunner(w.ledger, all), time.Now, logging.New(&w.log, "")
	return effects.New(o)
}

// push delivers a message as Pub/Sub does, and returns the answer.
func (w *line) push(f effects.Function, m ledger.Message) string {
	answer := httptest.NewRecorder()
	body := push(fmt.Sprintf(`{"operation":%q,"effect":%q,"attempt":1}`, m.Operation, m.Effect))
	f.ServeHTTP(answer, httptest.NewRequestWithContext(w.Context(), http.MethodPost, "/", strings.NewReader(body)))
	return fmt.Sprint(answer.Code, " ", strings.TrimSpace(answer.Body.String()))
}

// flaky returns a handler that fails n times before it succeeds.
func flaky(n int) effect.HandlerFunc {
	var attempts atomic.Int64
	return func(context.Context, effect.Task) ([]ledger.Write, error) {
		if attempts.Add(1) <= int64(n) {
			return nil, errTarget
		}
		return nil, nil
	}
}

// TestBackOffInside: a request waits for a back-off of at most 20 s and retries. Each attempt is a
// line in the log [S10].
func TestBackOffInside(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(1)
		began := time.Now()
		f := w.process(effects.Options{Slots: 2}, map[string]effect.HandlerFunc{"publish": flaky(3)})
		if got := w.push(f, w.topic.Drain()[0]); got != `200 {"outcome":"finished","reason":"claimed","attempt":4}` {
			w.Errorf("answered %s", got)
		}
		if took := time.Since(began); took < 10*time.Second || took > 21*time.Second {
			w.Errorf("it took %v", took)
		}
		if got := w.lines(); !cmp.Equal(got, map[string]int{"effect failed": 3, "effect finished": 1}) {
			w.Errorf("logged %v", got)
		}
	})
}

// TestTimeout: the work on a request ends before the platform ends it, so that the outcome is
// recorded and answered.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[time.Duration]time.Duration{
		9 * time.Minute: 9*time.Minute - 15*time.Second, 8 * time.Second: 6 * time.Second,
	} {
		t.Run(timeout.String(), func(t *testing.T) {
			onLine(t, []string{"publish"}, func(w *line) {
				w.plan(1)
				began, ended := time.Now(), time.Duration(0)
				f := w.process(effects.Options{Timeout: timeout}, map[string]effect.HandlerFunc{
					"publish": func(ctx context.Context, _ effect.Task) ([]ledger.Write, error) {
						<-ctx.Done()
						ended = time.Since(began)
						return nil, ctx.Err()
					},
				})
				if got := w.push(f, w.topic.Drain()[0]); got != `200 {"outcome":"failed","reason":"claimed","attempt":1}` {
					w.Errorf("answered %s", got)
				}
				if ended != want {
					w.Errorf("the work took %v, want %v", ended, want)
				}
			})
		})
	}
}

// TestStopped: an attempt that SIGTERM interrupts is answered, and is a line that says that the
// effect may have happened.
func TestStopped(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(1)
		ctx, cancel := context.WithCancelCause(w.Context())
		f := w.process(effects.Options{}, map[string]effect.HandlerFunc{
			"publish": func(inner context.Context, _ effect.Task) ([]ledger.Write, error) {
				cancel(effect.ErrStopped)
				return nil, inner.Err()
			},
		})
		report, err := f.Run(ctx, w.topic.Drain()[0])
		if err != nil || report.Outcome != effect.Continued {
			w.Errorf("%+v %v", report, err)
		}
		if sent := w.topic.Drain(); len(sent) != 1 || sent[0].Attempt != 1 {
			w.Errorf("handed on with %+v", sent)
		}
		for _, line := range w.log.Drain(w) {
			if line["outcome"] != "continued" || line["reason"] != "stopped" || line["uncertain"] != true {
				w.Errorf("logged %v", line)
			}
		}
	})
}

// TestLongBackOffIsTheSweeps: a longer back-off is acknowledged at once. The sweep sends the effect
// when it is due, and not before. A message that arrives too early is acknowledged, too [S10, R5].
func TestLongBackOffIsTheSweeps(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(1)
		m := w.topic.Drain()[0]
		fail := true
		f := w.process(effects.Options{Slots: 20}, map[string]effect.HandlerFunc{
			"publish": func(context.Context, effect.Task) ([]ledger.Write, error) {
				if fail {
					return nil, effect.RetryAfter(errTarget, 21*time.Second)
				}
				return nil, nil
			},
		})
		began := time.Now()
		for _, want := range []string{`200 {"outcome":"failed","reason":"claimed","attempt":1}`,
			`200 {"outcome":"early","reason":"backing-off"}`} {
			if got := w.push(f, m); got != want || time.Since(began) > 0 {
				w.Errorf("answered %s after %v, want %s", got, time.Since(began), want)
			}
		}
		fail = false
		if summary := w.pass(); summary.EffectsRequeued != 1 {
			w.Errorf("%+v", summary)
		}
		if again, got := w.deliver(f); again != 0 || got[effect.Finished] != 1 {
			w.Errorf("%d again, %v", again, got)
		}
	})
}

// TestHalfTheSlotsWait: requests that back off use at most half of a process's slots. The others
// are acknowledged at once, which leaves the slots to effects of healthy receivers, and the sweep
// sends them again [S10, R5].
func TestHalfTheSlotsWait(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		const n, slots = 10, 6
		w.plan(n)
		var recovered atomic.Bool
		f := w.process(effects.Options{Slots: slots}, map[string]effect.HandlerFunc{
			"publish": func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
				if !recovered.Load() {
					return nil, effect.RetryAfter(errTarget, 10*time.Second)
				}
				return nil, nil
			},
		})
		began := time.Now()
		var mu sync.Mutex
		answered := map[time.Duration]int{}
		var group sync.WaitGroup
		for _, m := range w.topic.Drain() {
			group.Go(func() {
				w.push(f, m)
				mu.Lock()
				defer mu.Unlock()
				answered[time.Since(began).Truncate(10*time.Second)]++
			})
		}
		time.Sleep(time.Second)
		recovered.Store(true)
		group.Wait()
		if want := map[time.Duration]int{0: n - slots/2, 10 * time.Second: slots / 2}; !cmp.Equal(answered, want) {
			w.Errorf("answered %v, want %v", answered, want)
		}
		w.pass()
		if again, got := w.deliver(f); again != 0 || got[effect.Finished] != n-slots/2 {
			w.Errorf("%d again, %v", again, got)
		}
	})
}

// TestWaitsInTheFirstHalf: a request waits only in the first half of its time, so that the attempt
// after it is not cut off.
func TestWaitsInTheFirstHalf(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(1)
		f := w.process(effects.Options{Slots: 20}, map[string]effect.HandlerFunc{
			"publish": func(context.Context, effect.Task) ([]ledger.Write, error) {
				return nil, effect.RetryAfter(errTarget, 12*time.Second)
			},
		})
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		report, err := f.Run(ctx, w.topic.Drain()[0])
		if took := time.Since(began); err != nil || report.Outcome != effect.Failed || took != 24*time.Second ||
			report.Lease.Attempt != 3 {
			w.Errorf("%+v %v after %v", report, err, took)
		}
	})
}

// TestCallerGoneWhileWaiting: a request that ends while it waits leaves the effect to the sweep.
func TestCallerGoneWhileWaiting(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(1)
		ctx, cancel := context.WithCancel(w.Context())
		time.AfterFunc(time.Millisecond, cancel)
		began := time.Now()
		f := w.process(effects.Options{Slots: 20}, map[string]effect.HandlerFunc{"publish": flaky(1)})
		if report, err := f.Run(ctx, w.topic.Drain()[0]); err != nil || report.Outcome != effect.Failed ||
			time.Since(began) > time.Millisecond {
			w.Errorf("%+v %v after %v", report, err, time.Since(began))
		}
		w.pass()
		if again, got := w.deliver(f); again != 0 || got[effect.Finished] != 1 {
			w.Errorf("%d again, %v", again, got)
		}
	})
}

// TestLater: with Options.Later, failed and busy messages are handed to it; nothing waits inside of
// the request.
func TestLater(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(2)
		type later struct {
			m     ledger.Message
			after time.Duration
		}
		var asked []later
		release := make(chan struct{})
		f := w.process(effects.Options{
			Slots: 20, Concurrency: map[string]int{"publish": 1},
			Later: func(m ledger.Message, after time.Duration) { asked = append(asked, later{m, after}) },
		}, map[string]effect.HandlerFunc{
			"publish": func(context.Context, effect.Task) ([]ledger.Write, error) {
				<-release
				return nil, effect.RetryAfter(errTarget, 2*time.Hour)
			},
		})
		var group sync.WaitGroup
		group.Go(func() { w.push(f, first("batches/0000")) })
		synctest.Wait()
		if report, err := f.Run(w.Context(), first("batches/0001")); err != nil || report.Outcome != effect.Busy {
			w.Errorf("%+v %v", report, err)
		}
		close(release)
		group.Wait()
		failed := first("batches/0000")
		failed.Attempt = 2
		if want := []later{{first("batches/0001"), time.Second}, {failed, 2 * time.Hour}}; !slices.Equal(asked, want) {
			w.Errorf("asked for %+v, want %+v", asked, want)
		}
	})
}
