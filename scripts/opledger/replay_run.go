package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// known is an error where a line's effect was never planned, nor is there a rule for it, so that this process cannot run it.
// With a topic it is a warning: the deployed function may have such a rule.
func (d *replayDesk) known(ctx context.Context, lines []replayLine) error {
	var rules []string
	for _, rule := range d.server.Ledger.Settings().Rules {
		rules = append(rules, rule.Name)
	}
	for _, line := range lines {
		if line.Status != unplanned || slices.Contains(rules, line.Effect) {
			continue
		}
		rec, err := recordOf(ctx, d.server.Ledger, line.Operation)
		if err != nil {
			return err
		}
		err = noEffect(rec, line.Effect, ", nor does OPLEDGER_EFFECTS name it for this command", rules...)
		if d.topic == "" {
			return err
		}
		_, _ = fmt.Fprintf(d.outside.err, "opledger: %v\nopledger: the deployed function may know it, and is left to decide\n", err)
	}
	return nil
}

// noEffect says that an operation has no effect of that name, more words about that, and which effect was perhaps meant: of
// the operation, or one of others.
func noEffect(rec operation.Record, name, more string, others ...string) error {
	meant := diag.DidYouMean(name, append(slices.Sorted(maps.Keys(rec.Effects)), others...))
	if meant == "" {
		meant = "; opledger show " + typed(string(rec.Key)) + " shows those it has"
	}
	return fmt.Errorf("%s has no effect %s%s%s", dash(string(rec.Key)), diag.Quote(name), more, meant)
}

// run hands a message over in this process, and returns the run that came of its line and how it stands then.
func (d *replayDesk) run(ctx context.Context, m ledger.Message, line replayLine) (replayLine, error) {
	report, _ := d.server.Run(ctx, m) // an error is in the log, and what came of it in the ledger
	d.server.Drain(ctx)               // what the attempt has left
	rec, err := recordOf(ctx, d.server.Ledger, line.Operation)
	if err != nil {
		return line, err
	}
	line.ran, line.unknown = report.Lease.Attempt > 0, report.Outcome == effect.Unknown
	if d.nonce != "" {
		line.Effect += "@" + d.nonce
	}
	if line.Status = rec.Effects[line.Effect]; line.Status == "" {
		line.Status = unplanned
	}
	return line, nil
}

// undone is an error where effects were run in this process and some are not done, or, while effects are paused, some could
// not even be taken in. It says what happens next to those that something happens to.
func (d *replayDesk) undone(lines []replayLine) error {
	var left, open, unknown int
	for _, line := range lines {
		switch {
		case line.Status == operation.EffectDone, d.paused && line.Status == operation.EffectOpen:
			continue
		case line.unknown:
			unknown++
		case line.Status == operation.EffectOpen:
			open++
		}
		left++
	}
	if d.topic != "" || left == 0 {
		return nil
	}
	words := []string{fmt.Sprintf("%d of %d effects are not done: the log above says why", left, len(lines))}
	if open > 0 {
		words = append(words, "what is open runs again when serve sweeps")
	}
	if unknown > 0 {
		words = append(words, "for what is unknown here set OPLEDGER_EFFECTS as the functions have it")
	}
	return errors.New(strings.Join(words, "; "))
}
