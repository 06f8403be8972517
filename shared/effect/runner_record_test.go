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

// TestExtraWrites: documents that the handler returns are written with the outcome, or not at all.
func TestExtraWrites(t *testing.T) {
	inWorld(t, func(w *world) {
		path := ledger.EffectPath(key, name).Child("items", "1")
		extra := func(err error) effect.HandlerFunc {
			return func(context.Context, effect.Task) ([]ledger.Write, error) {
				return []ledger.Write{{Path: path, Data: extraDocument{ID: "1"}}}, err
			}
		}
		there := func() bool {
			snapshot, err := w.store.Get(w.ctx, path)
			if err != nil {
				w.Fatal(err)
			}
			return snapshot.Documents[0].Exists()
		}
		report := w.run(w.runner(extra(errTarget)), effect.Failed)
		if there() {
			w.Error("a document of a failed attempt")
		}
		time.Sleep(report.RetryAfter)
		w.run(w.runner(extra(nil)), effect.Finished)
		if !there() {
			w.Error("no document of an attempt that succeeded")
		}
	})
}

// TestRefusedExtraWrites: documents that the store can never accept are a mistake in the handler.
// The effect is DEAD, for an operator to see, and is not repeated.
func TestRefusedExtraWrites(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.runner(func(context.Context, effect.Task) ([]ledger.Write, error) {
			return []ledger.Write{{Path: "items/1", Data: extraDocument{ID: strings.Repeat("x", ledger.MaxDocumentBytes)}}}, nil
		})
		if report := w.run(r, effect.Died); !errors.Is(report.Cause, ledger.ErrInvalid) {
			w.Errorf("report %+v", report)
		}
		if e, _ := w.effect(); e.State != ledger.EffectDead {
			w.Errorf("effect %+v", e)
		}
	})
}

// TestExtraWriteExists: a document that may only be created, and exists, makes the effect DEAD at
// once, with the cause. Another attempt would only perform the effect again.
func TestExtraWriteExists(t *testing.T) {
	inWorld(t, func(w *world) {
		if _, err := w.store.Commit(w.ctx, ledger.Write{Path: "items/1", Data: extraDocument{ID: "another's"}}); err != nil {
			w.Fatal(err)
		}
		var p performances
		r := w.runner(p.that(func(context.Context, effect.Task) ([]ledger.Write, error) {
			return []ledger.Write{{Path: "items/1", Data: extraDocument{ID: "1"}}}, nil
		}))
		report := w.run(r, effect.Died)
		e, status := w.effect()
		if e.State != ledger.EffectDead || status != "dead" || !errors.Is(report.Cause, ledger.ErrExists) ||
			!strings.Contains(e.LastError, "items/1") {
			w.Errorf("%+v of %+v", report, e)
		}
		if report := w.run(r, effect.Skipped); report.Verdict != ledger.Dead || len(p.tasks()) != 1 {
			w.Errorf("performed %d times", len(p.tasks()))
		}
	})
}

// TestExtraWriteOvertaken: a document that another writer changes between the read of the handler
// and the commit fails the attempt, and the next one reads it again.
func TestExtraWriteOvertaken(t *testing.T) {
	inWorld(t, func(w *world) {
		path := ledger.Path("items/1")
		token := func() ledger.Token {
			snapshot, err := w.store.Get(w.ctx, path)
			if err != nil {
				w.Fatal(err)
			}
			return snapshot.Documents[0].Token
		}
		write := func(id string) {
			write := ledger.Write{Path: path, Token: token(), Data: extraDocument{ID: id}}
			if _, err := w.store.Commit(w.ctx, write); err != nil {
				w.Fatal(err)
			}
		}
		write("first")
		overtaken := false
		r := w.runner(func(context.Context, effect.Task) ([]ledger.Write, error) {
			mine := ledger.Write{Path: path, Token: token(), Data: extraDocument{ID: "ours"}}
			if !overtaken {
				overtaken = true
				write("another's")
			}
			return []ledger.Write{mine}, nil
		})
		report := w.run(r, effect.Failed)
		if e, _ := w.effect(); e.State != ledger.EffectPending || !strings.Contains(e.LastError, string(path)) ||
			!errors.Is(report.Cause, ledger.ErrContention) {
			w.Errorf("%+v of %+v", report, e)
		}
		time.Sleep(report.RetryAfter)
		w.run(r, effect.Finished)
	})
}

// TestCallerGone: an outcome is recorded even if the caller's context has ended, because an effect
// without a record is repeated.
func TestCallerGone(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, c := range []struct {
			err  error
			want effect.Outcome
		}{{context.Canceled, effect.Failed}, {nil, effect.Finished}} {
			ctx, cancel := context.WithCancel(w.ctx)
			report, err := w.runner(func(inner context.Context, _ effect.Task) ([]ledger.Write, error) {
				cancel()
				<-inner.Done()
				return nil, c.err
			}).Run(ctx, message)
			if err != nil || report.Outcome != c.want {
				w.Fatalf("%v: %+v %v, want %s", c.err, report, err, c.want)
			}
			e, _ := w.effect()
			if want := map[effect.Outcome]ledger.EffectState{effect.Failed: ledger.EffectPending,
				effect.Finished: ledger.EffectDone}[c.want]; e.State != want {
				w.Fatalf("effect %+v", e)
			}
			time.Sleep(report.RetryAfter)
		}
	})
}

// TestStopped: an attempt that is interrupted because its process stops is given back at once,
// without being counted, and another process claims it with the same key. One that ends by itself is
// recorded as it ended [S4].
func TestStopped(t *testing.T) {
	inWorld(t, func(w *world) {
		w.run(w.runner(failsWith(errTarget)), effect.Failed)
		time.Sleep(time.Minute)
		var p performances
		stop := func(after error) (effect.Report, error) {
			ctx, cancel := context.WithCancelCause(w.ctx)
			return w.runner(p.that(func(inner context.Context, _ effect.Task) ([]ledger.Write, error) {
				cancel(effect.ErrStopped)
				<-inner.Done()
				return nil, after
			})).Run(ctx, message)
		}
		report, err := stop(context.Canceled)
		if err != nil || report.Outcome != effect.Continued || !report.Stopped || report.Again() {
			w.Fatalf("%+v %v", report, err)
		}
		if e, _ := w.effect(); e.State != ledger.EffectPending || e.Attempts != 1 || e.Failing == nil ||
			e.Failing.Times != 1 {
			w.Errorf("effect %+v", e)
		}
		if report, err = stop(effect.Permanent(errTarget)); err != nil || report.Outcome != effect.Died || report.Stopped {
			w.Errorf("%+v %v", report, err)
		}
		tasks := p.tasks()
		if len(tasks) != 2 || tasks[1].Attempt != 2 || tasks[1].Seized || tasks[1].Fence != tasks[0].Fence+1 ||
			tasks[1].IdempotencyKey != tasks[0].IdempotencyKey || string(tasks[1].Payload) != string(tasks[0].Payload) {
			w.Errorf("attempts %+v", tasks)
		}
	})
}

// TestStoreHiccup: after an outage of seconds the outcome is recorded, and the effect is not
// repeated [S4].
func TestStoreHiccup(t *testing.T) {
	inWorld(t, func(w *world) {
		var p performances
		store := w.outage()
		r := w.runnerOver(store, p.that(func(context.Context, effect.Task) ([]ledger.Write, error) {
			store.down.Store(true)
			time.AfterFunc(5*time.Second, func() { store.down.Store(false) })
			return nil, nil
		}))
		if report, err := r.Run(w.ctx, message); err != nil || report.Outcome != effect.Finished {
			w.Errorf("%+v %v", report, err)
		}
		if e, _ := w.effect(); e.State != ledger.EffectDone || len(p.tasks()) != 1 {
			w.Errorf("%+v, performed %d times", e, len(p.tasks()))
		}
	})
}

// TestStoreDown: if the ledger cannot be read nothing is performed. If it cannot be written, the
// effect is repeated after the lease, with the same key and the same bytes.
func TestStoreDown(t *testing.T) {
	inWorld(t, func(w *world) {
		var p performances
		store := w.outage()
		r := w.runnerOver(store, p.that(func(context.Context, effect.Task) ([]ledger.Write, error) {
			store.down.Store(true)
			return nil, nil
		}))
		if report, err := r.Run(w.ctx, message); !errors.Is(err, ledger.ErrUnavailable) || report.Outcome != effect.Finished {
			w.Errorf("down at the finish: %+v %v", report, err)
		}
		if report, err := r.Run(w.ctx, message); err != nil || report.Outcome != effect.Held {
			w.Errorf("meanwhile: %+v %v", report, err)
		}
		time.Sleep(ttl)
		if _, err := r.Run(w.ctx, message); !errors.Is(err, ledger.ErrUnavailable) || len(p.tasks()) != 1 {
			w.Errorf("down at the claim: %v, performed %d times", err, len(p.tasks()))
		}
		store.down.Store(false)
		w.run(w.runner(p.that(succeeds)), effect.Finished)
		tasks := p.tasks()
		if len(tasks) != 2 || !tasks[1].Seized || tasks[1].Fence != 2 || tasks[1].Attempt != 2 ||
			tasks[1].IdempotencyKey != tasks[0].IdempotencyKey || string(tasks[1].Payload) != string(tasks[0].Payload) {
			w.Errorf("attempts %+v", tasks)
		}
	})
}

// TestLostAnswers: a commit whose answer was lost is recognised. The effect is performed once and
// DONE.
func TestLostAnswers(t *testing.T) {
	for _, fault := range []ledgertest.Fault{ledgertest.LoseAnswer, ledgertest.RepeatItself, ledgertest.Abort,
		ledgertest.FailBefore} {
		t.Run(fault.String(), func(t *testing.T) {
			inWorld(t, func(w *world) {
				var p performances
				w.run(w.runnerOver(ledgertest.Inject(w.store, fault, ledgertest.None, fault), p.that(succeeds)), effect.Finished)
				if e, _ := w.effect(); e.State != ledger.EffectDone || e.Attempts != 1 || len(p.tasks()) != 1 {
					w.Errorf("effect %+v, performed %d times", e, len(p.tasks()))
				}
			})
		})
	}
}

// TestInsistSaysWhy: where the time for a record runs out in a call of the store, the error includes
// what the store said before.
func TestInsistSaysWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		err := effect.Insist(t.Context(), func(ctx context.Context) error {
			if calls++; calls == 1 {
				return ledger.ErrUnavailable
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, ledger.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
