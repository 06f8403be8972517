package effect_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
)

var errTarget = errors.New("the target is down")

// TestFinished: an effect that happened is DONE in its document and in the record, and is never
// performed again [S1, S7].
func TestFinished(t *testing.T) {
	inWorld(t, func(w *world) {
		var p performances
		r := w.runner(p.that(succeeds))
		report := w.run(r, effect.Finished)
		if report.Again() || report.Cause != nil || report.Verdict != ledger.Claimed || report.Lease.Attempt != 1 ||
			report.Lease.Fence != 1 {
			w.Errorf("report %+v", report)
		}
		e, status := w.effect()
		if e.State != ledger.EffectDone || status != "done" || e.DoneAt.IsZero() {
			w.Errorf("effect %+v, the record says %s", e, status)
		}
		task := p.tasks()[0]
		if task.Operation != key || task.Effect != name || task.IdempotencyKey != "gemini:batches/a#publish" ||
			string(task.Payload) != e.Payload {
			w.Errorf("the handler was given %+v", task)
		}
		if report := w.run(r, effect.Skipped); report.Verdict != ledger.Done || report.Again() || len(p.tasks()) != 1 {
			w.Errorf("again: %+v, performed %d times", report, len(p.tasks()))
		}
	})
}

// TestFailed: a failed effect is released at once. It is performed again after the back-off and not
// before, with the same bytes, the same key and a higher fence [S4, S6].
func TestFailed(t *testing.T) {
	inWorld(t, func(w *world) {
		var p performances
		var now error = errTarget
		r := w.runner(p.that(func(context.Context, effect.Task) ([]ledger.Write, error) { return nil, now }))
		report := w.run(r, effect.Failed)
		if report.Again() || !errors.Is(report.Cause, errTarget) || report.RetryAfter <= 0 || report.RetryAfter > ttl/2 {
			w.Errorf("report %+v", report)
		}
		if e, status := w.effect(); e.State != ledger.EffectPending || status != "open" ||
			e.LastError != errTarget.Error() || e.Attempts != 1 {
			w.Errorf("effect %+v, the record says %s", e, status)
		}
		early := w.run(r, effect.Early)
		if early.Again() || early.RetryAfter <= 0 || early.RetryAfter > report.RetryAfter || len(p.tasks()) != 1 {
			w.Errorf("at once: %+v", early)
		}
		time.Sleep(early.RetryAfter)
		now = nil
		w.run(r, effect.Finished)
		tasks := p.tasks()
		if len(tasks) != 2 || tasks[1].Attempt != 2 || tasks[1].Fence != 2 || tasks[1].Seized ||
			tasks[1].IdempotencyKey != tasks[0].IdempotencyKey || string(tasks[1].Payload) != string(tasks[0].Payload) {
			w.Errorf("attempts %+v", tasks)
		}
	})
}

// TestRetryAfter: the handler's RetryAfter counts if it is longer than the back-off.
func TestRetryAfter(t *testing.T) {
	inWorld(t, func(w *world) {
		var p performances
		r := w.runner(p.that(failsWith(fmt.Errorf("posting: %w", effect.RetryAfter(errTarget, 3*time.Hour)))))
		if report := w.run(r, effect.Failed); report.RetryAfter != 3*time.Hour || !errors.Is(report.Cause, errTarget) {
			w.Errorf("report %+v", report)
		}
		time.Sleep(3*time.Hour - time.Second)
		w.run(r, effect.Early)
		time.Sleep(time.Second)
		w.run(r, effect.Failed)
		if n := len(p.tasks()); n != 2 {
			w.Errorf("performed %d times", n)
		}
	})
}

// TestPermanent: an error of Permanent makes the effect DEAD at once, however deep it is wrapped.
func TestPermanent(t *testing.T) {
	inWorld(t, func(w *world) {
		var p performances
		r := w.runner(p.that(failsWith(fmt.Errorf("posting: %w", effect.Permanent(errTarget)))))
		if report := w.run(r, effect.Died); report.Again() || !errors.Is(report.Cause, errTarget) ||
			!effect.IsPermanent(report.Cause) {
			w.Errorf("report %+v", report)
		}
		if e, status := w.effect(); e.State != ledger.EffectDead || status != "dead" ||
			!strings.Contains(e.LastError, errTarget.Error()) {
			w.Errorf("effect %+v, the record says %s", e, status)
		}
		if report := w.run(r, effect.Skipped); report.Verdict != ledger.Dead || len(p.tasks()) != 1 {
			w.Errorf("again: %+v", report)
		}
	})
}

// TestGivenUp: an effect that has failed often enough and for long enough is DEAD with its last
// error, which says so, and is not attempted again. Every failure has the time since which the
// effect fails. One of them reports that this has lasted for an hour [S2, S4].
func TestGivenUp(t *testing.T) {
	inWorld(t, func(w *world) {
		var p performances
		r := w.runner(p.that(failsWith(errTarget)))
		began, alerts := time.Now(), 0
		var report effect.Report
		for report.Outcome != effect.Died {
			time.Sleep(report.RetryAfter)
			var err error
			if report, err = r.Run(w.ctx, message); err != nil || !report.FailingSince.Equal(began) || !report.Alert &&
				time.Since(began) > 3*time.Hour && alerts == 0 {
				w.Fatalf("%+v %v", report, err)
			}
			if report.Alert {
				alerts++
			}
		}
		lasted, attempts := time.Since(began), len(p.tasks())
		if alerts != 1 || lasted < w.settings.RetryFor || lasted > w.settings.RetryFor+time.Hour ||
			attempts < 2*w.settings.MaxAttempts {
			w.Errorf("%d alerts, %d attempts in %v", alerts, attempts, lasted)
		}
		e, _ := w.effect()
		lastError := fmt.Sprintf("failed attempts: %d within %v; the last error: %v", attempts, lasted.Round(time.Second),
			errTarget)
		if e.State != ledger.EffectDead || e.LastError != lastError || report.Cause.Error() != lastError || report.Again() {
			w.Errorf("it died of %q, and reported %v", e.LastError, report.Cause)
		}
		w.run(r, effect.Skipped)
	})
}

// TestCrashes: an effect whose every attempt ends with its process is DEAD in the end, without a
// failure [S2].
func TestCrashes(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.runner(failsWith(errTarget))
		for range 3 * w.settings.MaxAttempts {
			if grant, err := w.over(w.store).Effects.Claim(w.ctx, key, name); err != nil || grant.Verdict != ledger.Claimed {
				w.Fatalf("%+v %v", grant, err)
			}
			time.Sleep(ttl)
		}
		report := w.run(r, effect.Died)
		e, _ := w.effect()
		if report.Again() || report.Verdict != ledger.Exhausted || report.Cause.Error() != e.LastError ||
			e.State != ledger.EffectDead {
			w.Errorf("%+v of %+v", report, e)
		}
	})
}

// TestPanic: a handler that panics has failed, like any other, and its effect is retried.
func TestPanic(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.runner(func(context.Context, effect.Task) ([]ledger.Write, error) { panic("oh no") })
		report := w.run(r, effect.Failed)
		if report.Again() || !strings.Contains(report.Cause.Error(), "oh no") {
			w.Errorf("report %+v", report)
		}
		if e, _ := w.effect(); e.State != ledger.EffectPending || !strings.Contains(e.LastError, "oh no") {
			w.Errorf("effect %+v", e)
		}
	})
}

// TestHeld: of any number of runs at once exactly one performs the effect [S3]. The others report
// it and are not repeated.
func TestHeld(t *testing.T) {
	inWorld(t, func(w *world) {
		var p performances
		r := w.runner(p.that(func(context.Context, effect.Task) ([]ledger.Write, error) {
			time.Sleep(time.Minute) // longer than the other runs need
			return nil, nil
		}))
		const n = 20
		var mu sync.Mutex
		outcomes := map[effect.Outcome]int{}
		var group sync.WaitGroup
		for range n {
			group.Go(func() {
				report, err := r.Run(w.ctx, message)
				if err != nil {
					w.Errorf("Run: %v", err)
				}
				if report.Outcome == effect.Held && report.Again() {
					w.Error("a message that another one holds is delivered again")
				}
				mu.Lock()
				defer mu.Unlock()
				outcomes[report.Outcome]++
			})
		}
		group.Wait()
		if want := map[effect.Outcome]int{effect.Finished: 1, effect.Held: n - 1}; !cmp.Equal(want, outcomes) ||
			len(p.tasks()) != 1 {
			w.Errorf("outcomes %v, want %v; performed %d times", outcomes, want, len(p.tasks()))
		}
	})
}

type extraDocument struct {
	ID string `json:"id"`
}
