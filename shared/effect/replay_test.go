package effect_test

import (
	"context"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
)

// TestReplayUnknown: a person's message that a revision without the handler gets first is not swallowed: it comes back, for a
// revision that has it, where there is something to reopen or to run anew [G5].
func TestReplayUnknown(t *testing.T) {
	inWorld(t, func(w *world) {
		stranger := effect.NewRunner(w.over(w.store), nil)
		asked := ledger.Message{Operation: key, Effect: name, ID: "m1"}
		anew := ledger.Message{Operation: key, Effect: name, Rerun: "fix-1", ID: "m2"}
		run := func(what string, r *effect.Runner, m ledger.Message, want effect.Outcome) effect.Report {
			t.Helper()
			report, err := r.Run(w.ctx, m)
			if err != nil || report.Outcome != want {
				t.Errorf("%s: %+v %v, want %s", what, report, err, want)
			}
			return report
		}
		run("open", stranger, asked, effect.Unknown)
		refuses := w.runner(func(context.Context, effect.Task) ([]ledger.Write, error) {
			return nil, effect.Permanent(context.DeadlineExceeded)
		})
		w.run(refuses, effect.Died)
		run("dead, by the ledger's own", stranger, message, effect.Skipped)
		run("dead", stranger, asked, effect.Unknown)
		finishes := w.runner(func(context.Context, effect.Task) ([]ledger.Write, error) { return nil, nil })
		if report := run("dead", finishes, asked, effect.Finished); report.Replay.Outcome != ledger.Reopened {
			t.Errorf("%+v", report)
		}
		run("done", stranger, asked, effect.Skipped)
		run("done, anew", stranger, anew, effect.Unknown)
		if report := run("done, anew", finishes, anew, effect.Finished); report.Lease.IdempotencyKey != "gemini:batches/a#publish@fix-1" {
			t.Errorf("%+v", report)
		}
		never := run("never planned", stranger, ledger.Message{Operation: "batches/none", Effect: name, ID: "m3"}, effect.Skipped)
		if never.Cause == nil || never.Again() {
			t.Errorf("%+v", never)
		}
	})
}

// TestReplayedAttempts: what was reopened has all its attempts before it, and dies after as many again [G5, S2].
func TestReplayedAttempts(t *testing.T) {
	inWorld(t, func(w *world) {
		w.settings.RetryFor = 0
		p := &performances{}
		fails := w.runner(p.that(func(context.Context, effect.Task) ([]ledger.Write, error) { return nil, context.DeadlineExceeded }))
		for _, m := range []ledger.Message{message, {Operation: key, Effect: name, ID: "m1"}} {
			for deliveries := 0; ; deliveries++ {
				report, err := fails.Run(w.ctx, m)
				if err != nil || deliveries > 10 {
					t.Fatalf("%+v %v", report, err)
				}
				if report.Outcome != effect.Failed {
					break
				}
				time.Sleep(report.RetryAfter)
			}
			if e, status := w.effect(); e.State != ledger.EffectDead || status != "dead" {
				t.Errorf("%+v %s", e, status)
			}
		}
		tasks := p.tasks()
		if len(tasks) != 2*w.settings.MaxAttempts {
			t.Errorf("performed %d times, want %d", len(tasks), 2*w.settings.MaxAttempts)
		}
		for i, task := range tasks {
			if task.Fence != int64(i+1) || task.Attempt != i%w.settings.MaxAttempts+1 {
				t.Errorf("attempt %d has the fence %d and is number %d", i, task.Fence, task.Attempt)
			}
		}
	})
}
