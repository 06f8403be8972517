package effect_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
)

// TestExtended: a handler that takes many times the lease keeps it, as long as its extensions
// succeed [S6].
func TestExtended(t *testing.T) {
	inWorld(t, func(w *world) {
		var p performances
		done := make(chan effect.Report)
		go func() {
			report, err := w.runner(p.that(func(ctx context.Context, _ effect.Task) ([]ledger.Write, error) {
				select {
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				case <-time.After(5*ttl + time.Second):
					return nil, nil
				}
			})).Run(w.ctx, message)
			if err != nil {
				w.Error(err)
			}
			done <- report
		}()
		synctest.Wait()
		for range 49 {
			time.Sleep(ttl / 10)
			w.run(w.runner(p.that(succeeds)), effect.Held)
		}
		if report := <-done; report.Outcome != effect.Finished || report.Lease.Fence != 1 || len(p.tasks()) != 1 {
			w.Errorf("report %+v, performed %d times", report, len(p.tasks()))
		}
	})
}

// TestExtensionFails: if no extension succeeds, the handler's context ends before another worker
// can seize the effect.
func TestExtensionFails(t *testing.T) {
	inWorld(t, func(w *world) {
		store := w.outage()
		began := time.Now()
		var ended time.Duration
		report, err := w.runnerOver(store, func(ctx context.Context, _ effect.Task) ([]ledger.Write, error) {
			store.down.Store(true)
			<-ctx.Done()
			ended = time.Since(began)
			store.down.Store(false)
			return nil, ctx.Err()
		}).Run(w.ctx, message)
		if err != nil || report.Outcome != effect.Failed || !errors.Is(report.Cause, ledger.ErrUnavailable) ||
			!strings.Contains(report.Cause.Error(), "lease") {
			w.Errorf("report %+v %v: the cause must say that the lease could not be extended", report, err)
		}
		if ended < ttl*8/10 || ended > ttl*9/10 {
			w.Errorf("the context ended after %v of a lease of %v", ended, ttl)
		}
	})
}

// TestLateClaim: a claim whose answer comes when its lease may have ended calls no handler [S6].
func TestLateClaim(t *testing.T) {
	inWorld(t, func(w *world) {
		late := time.Duration(0)
		store := ledgertest.InjectFunc(w.store, func() ledgertest.Fault {
			time.Sleep(late)
			late = 0
			return ledgertest.None
		})
		var p performances
		late = ttl * 9 / 10
		report, err := w.runnerOver(store, p.that(succeeds)).Run(w.ctx, message)
		if err != nil || report.Outcome != effect.Failed || len(p.tasks()) != 0 ||
			!strings.Contains(report.Cause.Error(), "the lease ends") {
			w.Errorf("report %+v %v, performed %d times", report, err, len(p.tasks()))
		}
		time.Sleep(ttl) // past the pause before the next attempt
		w.run(w.runnerOver(store, p.that(succeeds)), effect.Finished)
		if len(p.tasks()) != 1 {
			w.Errorf("performed %d times", len(p.tasks()))
		}
	})
}

// TestExtensionRecovers: one extension that fails while there is time for another does not end the
// handler.
func TestExtensionRecovers(t *testing.T) {
	inWorld(t, func(w *world) {
		began := time.Now()
		store := ledgertest.InjectFunc(w.store, func() ledgertest.Fault {
			if d := time.Since(began); d > ttl/2 && d < ttl*3/4 {
				return ledgertest.FailBefore // an outage of some minutes, during the first extension
			}
			return ledgertest.None
		})
		w.run(w.runnerOver(store, func(ctx context.Context, _ effect.Task) ([]ledger.Write, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(2 * ttl):
				return nil, nil
			}
		}), effect.Finished)
	})
}

// TestLeaseLost: a handler that goes on after its lease ended cannot record an outcome over its
// successor's [S6].
func TestLeaseLost(t *testing.T) {
	for name, result := range map[string]error{"finished": nil, "failed": errTarget,
		"permanent": effect.Permanent(errTarget)} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				store := w.outage()
				report := w.run(w.runnerOver(store, func(context.Context, effect.Task) ([]ledger.Write, error) {
					store.down.Store(true)
					time.Sleep(ttl) // it ignores its context
					if successor := w.run(w.runner(succeeds), effect.Finished); !successor.Lease.Seized || successor.Lease.Fence != 2 {
						w.Errorf("successor %+v", successor)
					}
					store.down.Store(false)
					return nil, result
				}), effect.LeaseLost)
				if report.Again() || !errors.Is(report.Cause, ledger.ErrLeaseLost) {
					w.Errorf("report %+v", report)
				}
				if e, _ := w.effect(); e.State != ledger.EffectDone || e.Fence != 2 || e.LastError != "" {
					w.Errorf("effect %+v", e)
				}
			})
		})
	}
}

// TestTakenOver: a worker whose lease was seized learns it at its next extension, and its handler
// is stopped [S6].
func TestTakenOver(t *testing.T) {
	inWorld(t, func(w *world) {
		began := time.Now()
		report := w.run(w.runner(func(ctx context.Context, _ effect.Task) ([]ledger.Write, error) {
			other := ledgertest.Skew(w.store) // whose clock is past the lease
			other.Advance(ttl)
			grant, err := w.over(other).Effects.Claim(w.ctx, key, name)
			if err != nil || grant.Verdict != ledger.Claimed {
				w.Fatalf("%+v %v", grant, err)
			}
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), ledger.ErrLeaseLost) {
				w.Errorf("the context ended because of %v", context.Cause(ctx))
			}
			return nil, ctx.Err()
		}), effect.LeaseLost)
		if d := time.Since(began); d > ttl*7/10 || report.Again() {
			w.Errorf("after %v: %+v", d, report)
		}
	})
}
