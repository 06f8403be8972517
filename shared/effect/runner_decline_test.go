package effect_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestReplayUnknown: an operator's message that a revision without the handler gets is not lost. It
// is redelivered to a revision that has it, if there is something to reopen or to rerun [G5].
func TestReplayUnknown(t *testing.T) {
	inWorld(t, func(w *world) {
		stranger := effect.NewRunner(w.over(w.store), nil)
		asked := ledger.Message{Operation: key, Effect: name, ID: "m1"}
		rerun := ledger.Message{Operation: key, Effect: name, Rerun: "fix-1", ID: "m2"}
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
		run("done, rerun", stranger, rerun, effect.Unknown)
		report := run("done, rerun", finishes, rerun, effect.Finished)
		if report.Lease.IdempotencyKey != "gemini:batches/a#publish@fix-1" {
			t.Errorf("%+v", report)
		}
		never := run("never planned", stranger, ledger.Message{Operation: "batches/none", Effect: name, ID: "m3"},
			effect.Skipped)
		if never.Cause == nil || never.Again() {
			t.Errorf("%+v", never)
		}
	})
}

// TestReplayedAttempts: a reopened effect has all its attempts again, and dies after as many [G5,
// S2].
func TestReplayedAttempts(t *testing.T) {
	inWorld(t, func(w *world) {
		w.settings.RetryFor = 0
		p := &performances{}
		fails := w.runner(p.that(func(context.Context, effect.Task) ([]ledger.Write, error) {
			return nil,
				context.DeadlineExceeded
		}))
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

// TestUnknown: an effect that this revision has no handler for is neither claimed nor counted, and
// its message is acknowledged. The sweep sends it again, unless there is nothing left to do.
func TestUnknown(t *testing.T) {
	inWorld(t, func(w *world) {
		before, _ := w.effect()
		stranger := effect.NewRunner(w.over(w.store), nil)
		report := w.run(stranger, effect.Unknown)
		if report.Again() || report.Cause == nil || !strings.Contains(report.Cause.Error(), name) {
			w.Errorf("report %+v", report)
		}
		if after, _ := w.effect(); !cmp.Equal(before, after) {
			w.Errorf("the effect changed from %+v to %+v", before, after)
		}
		w.run(w.runner(succeeds), effect.Finished)
		if report := w.run(stranger, effect.Skipped); report.Verdict != ledger.Done {
			w.Errorf("done: %+v", report)
		}
		report, err := stranger.Run(w.ctx, ledger.Message{Operation: "batches/none", Effect: "none"})
		if err != nil || report.Outcome != effect.Skipped || report.Verdict != ledger.Absent {
			w.Errorf("absent: %+v %v", report, err)
		}
		if report, err = w.runner(succeeds).Run(w.ctx, ledger.Message{Operation: "batches/none", Effect: name}); err != nil ||
			report.Outcome != effect.Skipped || report.Verdict != ledger.Absent {
			w.Errorf("absent, with a handler: %+v %v", report, err)
		}
	})
}

// TestAlertsHandler: an alert is one run of a rule, by the rule's handler, with a key of its own.
// One that is about no operation runs without a record. A rule that this revision does not have is
// unknown in every run [R4, K4].
func TestAlertsHandler(t *testing.T) {
	inWorld(t, func(w *world) {
		w.settings.Rules = []ledger.Rule{{Name: "page", Alerts: []ledger.Alert{ledger.AlertDisabled}}}
		const subject operation.Key = "webhooks/w1"
		alerted, err := w.over(w.store).Passes.AlertAbout(w.ctx, subject, ledger.AlertDisabled, time.Now(), "switched off")
		if err != nil || alerted.Planned != 1 {
			w.Fatalf("%+v, %v", alerted, err)
		}
		page, err := w.over(w.store).Effects.Due(w.ctx, time.Now(), ledger.Cursor{}, 10)
		if err != nil {
			w.Fatal(err)
		}
		var m ledger.Message
		for _, due := range page.Items {
			if due.Effect.Operation == subject {
				m = ledger.Message{Operation: subject, Effect: due.Effect.Name}
			}
		}
		stranger := effect.NewRunner(w.over(w.store), map[string]effect.Handler{m.Effect: effect.HandlerFunc(succeeds)})
		if report, err := stranger.Run(w.ctx, m); err != nil || report.Outcome != effect.Unknown {
			w.Errorf("without a handler of the rule: %+v, %v", report, err)
		}
		var p performances
		runner := effect.NewRunner(w.over(w.store), map[string]effect.Handler{"page": p.that(succeeds)})
		for _, want := range []effect.Outcome{effect.Finished, effect.Skipped} {
			if report, err := runner.Run(w.ctx, m); err != nil || report.Outcome != want {
				w.Errorf("%+v, %v, want %s", report, err, want)
			}
		}
		task := p.tasks()[0]
		var payload ledger.Payload
		if err := json.Unmarshal(task.Payload, &payload); err != nil {
			w.Fatal(err)
		}
		if task.IdempotencyKey != "gemini:webhooks/w1#"+m.Effect || payload.Alert == nil ||
			payload.Alert.Kind != "disabled" ||
			payload.Alert.Detail != "switched off" || payload.IdempotencyKey != task.IdempotencyKey {
			w.Errorf("task %+v, payload %s", task, task.Payload)
		}
	})
}
