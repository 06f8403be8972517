package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// checkRules refuses an effect that was never planned and that no rule here plans: this process
// cannot run it. With a topic it only warns, because the deployed function may have such a rule.
func (r *replayer) checkRules(ctx context.Context, targets []replayTarget) error {
	var rules []string
	for _, rule := range r.server.Ledger.Settings().Rules {
		rules = append(rules, rule.Name)
	}
	for _, target := range targets {
		if target.Status != unplanned || slices.Contains(rules, target.Effect) {
			continue
		}
		rec, err := recordOrAlerts(ctx, r.server.Ledger, target.Operation)
		if err != nil {
			return err
		}
		err = noEffect(rec, target.Effect, ", nor does OPLEDGER_EFFECTS name it for this command", rules...)
		if r.topic == "" {
			return err
		}
		_, _ = fmt.Fprintf(r.outside.err, "opledger: %v\nopledger: the deployed function may have that rule; it decides\n",
			err)
	}
	return nil
}

// run handles a message in this process, and returns its run with the status after it.
func (r *replayer) run(ctx context.Context, m ledger.Message, target replayTarget) (replayTarget, error) {
	report, _ := r.server.Run(ctx, m) // the log has the error, and the ledger the outcome
	r.server.Drain(ctx)               // what the attempt published
	rec, err := recordOrAlerts(ctx, r.server.Ledger, target.Operation)
	if err != nil {
		return target, err
	}
	target.ran = report.Lease.Attempt > 0
	target.unknown, target.newer = report.Outcome == effect.Unknown, report.Outcome == effect.Newer
	if r.nonce != "" {
		target.Effect += "@" + r.nonce
	}
	if target.Status = rec.Effects[target.Effect]; target.Status == "" {
		target.Status = unplanned
	}
	return target, nil
}

// undone returns an error if effects were run in this process and some are not done; while effects
// are paused, if some could not be accepted. It says what happens to them next.
func (r *replayer) undone(targets []replayTarget) error {
	var left, open, unknown, newer int
	for _, target := range targets {
		switch {
		case target.Status == operation.EffectDone, r.paused && target.Status == operation.EffectOpen:
			continue
		case target.unknown:
			unknown++
		case target.newer:
			newer++
		case target.Status == operation.EffectOpen:
			open++
		}
		left++
	}
	if r.topic != "" || left == 0 {
		return nil
	}
	words := []string{fmt.Sprintf("%d of %d effects are not done: the log above says why", left, len(targets))}
	if open > 0 {
		words = append(words, "what is open runs again when serve sweeps")
	}
	if unknown > 0 {
		words = append(words, "for what is unknown here set OPLEDGER_EFFECTS to the value of the functions")
	}
	if newer > 0 {
		words = append(words, "for what a newer revision of opledger wrote use that one, or a later one")
	}
	return errors.New(strings.Join(words, "; "))
}
