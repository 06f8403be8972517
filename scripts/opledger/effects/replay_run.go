package effects

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// checkRules refuses an effect that was never planned and that no rule here plans: this process
// cannot run it. With a topic it only warns, because the deployed function may have such a rule.
func (r *replayer) checkRules(ctx context.Context, targets []replayTarget) error {
	rules := ledger.RuleNames(r.writer.Ledger.Settings().Rules)
	for _, target := range targets {
		if target.Status != unplanned || slices.Contains(rules, target.Effect) {
			continue
		}
		rec, err := recordOrAlerts(ctx, r.writer.Ledger, target.Operation)
		if err != nil {
			return err
		}
		err = noEffect(rec, target.Effect, ", nor does OPLEDGER_EFFECTS or --forward-to of serve name it",
			open.NamedFlag(r.outside), rules...)
		if r.where.Topic == "" {
			return err
		}
		r.outside.Note("%v", err)
		r.outside.Note("the deployed function may have that rule; it decides")
	}
	return nil
}

// send sends a message for each target up to that one: to the topic, or to the handlers in this process.
func (r *replayer) send(ctx context.Context, run *replayRun, until int) error {
	p := terminal.NewProgress(r.outside)
	defer p.End()
	for all := howMany(run.targets); run.sent < until; {
		p.Say(fmt.Sprintf("%d of %s", run.sent, all))
		target := &run.targets[run.sent]
		m := ledger.Message{
			Operation: target.Operation, Effect: target.Effect, Rerun: run.nonce, By: r.by, ID: "replay-" + rand.Text(),
			Runs: target.runs, Now: run.selection.now,
		}
		err := ctx.Err()
		switch {
		case err != nil:
		case r.here():
			*target, err = r.run(ctx, m, *target)
		default:
			err = r.writer.Publish(ctx, m)
		}
		if err != nil {
			return r.stopped(run, err)
		}
		run.sent++
	}
	return nil
}

// stopped is the error of a replay that could not send every message. It says how to continue.
func (r *replayer) stopped(run *replayRun, why error) error {
	if errors.Is(why, context.Canceled) {
		why = terminal.ErrInterrupted
	}
	did := "messages were published"
	if r.here() {
		did = "effects were run"
	}
	next := "the same command again is safe, and selects the rest"
	if run.nonce != "" {
		next = "continue with --rerun=" + run.nonce + ", which does not repeat what has been published"
	}
	return fmt.Errorf("%d of %d %s, then: %w; %s", run.sent, len(run.targets), did, why, next)
}

// run handles a message in this process, and returns its run with the status after it.
func (r *replayer) run(ctx context.Context, m ledger.Message, target replayTarget) (replayTarget, error) {
	report, _ := r.writer.Run(ctx, m) // the log has the error, and the ledger the outcome
	r.writer.Drain(ctx)               // what the attempt published
	rec, err := recordOrAlerts(ctx, r.writer.Ledger, target.Operation)
	if err != nil {
		return target, err
	}
	target.ran = report.Lease.Attempt > 0
	target.unknown, target.newer = report.Outcome == effect.Unknown, report.Outcome == effect.Newer
	target.failed = report.Outcome == effect.Failed
	target.Effect = target.run(m.Rerun)
	if target.Status = rec.Effects[target.Effect]; target.Status == "" {
		target.Status = unplanned
	}
	target.ClaimableAt = time.Time{}
	if report.Outcome == effect.Early || report.Outcome == effect.Failed {
		effects, _, err := r.writer.Ledger.Effects.Read(ctx,
			ledger.EffectName{Operation: target.Operation, Effect: target.Effect})
		if err != nil || len(effects) == 0 {
			return target, err
		}
		target.ClaimableAt = phrase.NextAttempt(effects[0])
	}
	return target, nil
}

// undone returns an error if some effects are not done; while effects are paused in this process, if
// some could not be accepted. It says what happens to them next.
func (r *replayer) undone(targets []replayTarget) error {
	var left, open, unknown, forwarded, newer int
	for _, target := range targets {
		switch {
		case target.Status == operation.EffectDone, r.writer.Paused && target.Status == operation.EffectOpen:
			continue
		case target.unknown && target.forwards():
			forwarded++
		case target.unknown:
			unknown++
		case target.newer:
			newer++
		case target.Status == operation.EffectOpen:
			open++
		}
		left++
	}
	if left == 0 {
		return nil
	}
	why := "the log above says why"
	if !r.here() {
		why = "opledger list --dead says why"
	}
	words := []string{fmt.Sprintf("not done: %d of %s; %s", left, phrase.Counted(len(targets), "effect"), why)}
	if open > 0 {
		words = append(words, "the open ones run again when serve sweeps")
	}
	if unknown > 0 {
		words = append(words, "for those unknown here set OPLEDGER_EFFECTS to the value of the functions, or of serve")
	}
	if forwarded > 0 {
		words = append(words, "those of --forward-to only opledger serve runs: start it with that flag")
	}
	if newer > 0 {
		words = append(words, "for what a newer revision of opledger wrote use that one, or a later one")
	}
	return errors.New(strings.Join(words, "; "))
}
