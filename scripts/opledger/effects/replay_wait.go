package effects

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A replay that waits reads lookAtOnce effects every lookEvery, so that many of them cost no more
// reads a second than a few.
const (
	lookAtOnce = 100
	lookEvery  = 2 * time.Second
	// mostLooks bounds how often an effect without a document is looked for, over at least five minutes:
	// no rule may plan it, or it was deleted meanwhile.
	mostLooks = 150
)

// unreadable is the status of an effect whose document cannot be read.
const unreadable operation.EffectStatus = "unreadable"

// bounded is a context that ends when --timeout is over.
func (r *replayer) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, r.timeout)
}

// wait waits until the outcome of each of these effects is known. On a terminal it prints the outcomes so far
// in one line, which it overwrites.
func (r *replayer) wait(ctx context.Context, run *replayRun, waiting []int) error {
	p := terminal.NewProgress(r.outside)
	defer p.End()
	for said := false; len(waiting) > 0; {
		some := waiting[:min(lookAtOnce, len(waiting))]
		left, err := r.look(ctx, run, some)
		if err == nil {
			waiting = append(waiting[len(some):], left...)
			if !said && run.nonce != "" {
				said, err = true, r.noteSibling(ctx, run, left)
			}
		}
		if err == nil {
			p.Say("waiting for " + phrase.Counted(len(waiting), "effect") + ": " + outcomes(run.targets))
		}
		if err == nil && len(waiting) > 0 {
			err = r.outside.Pause(ctx, lookEvery)
		}
		if err != nil {
			return r.gaveUp(run, len(waiting), err)
		}
	}
	return nil
}

// mostSiblings bounds the reruns of which it is found out what they wait for.
const mostSiblings = 10

// noteSibling says on stderr which run the first of these reruns waits for, if one is in progress: of sibling runs one
// is CLAIMED at a time.
func (r *replayer) noteSibling(ctx context.Context, run *replayRun, waiting []int) error {
	for _, i := range waiting[:min(mostSiblings, len(waiting))] {
		target := run.targets[i]
		rec, err := recordOrAlerts(ctx, r.writer.Ledger, target.Operation)
		if err != nil {
			return err
		}
		var siblings []ledger.EffectName
		for name := range rec.Effects {
			if name != target.Effect && ledger.RuleOf(name) == ledger.RuleOf(target.Effect) {
				siblings = append(siblings, ledger.EffectName{Operation: target.Operation, Effect: name})
			}
		}
		effects, _, err := r.writer.Ledger.Effects.Read(ctx, siblings...)
		if err != nil {
			return err
		}
		for _, e := range effects {
			if e.State == ledger.EffectClaimed {
				r.outside.Note("%s waits until the run %s, which is in progress, has ended", target.title(), phrase.Safe(e.Name))
				return nil
			}
		}
	}
	return nil
}

// gaveUp is the error of a replay that sent every message, and does not know every outcome.
func (r *replayer) gaveUp(run *replayRun, waiting int, why error) error {
	switch {
	case errors.Is(why, context.DeadlineExceeded):
		why = fmt.Errorf("--timeout was over after %v", r.timeout)
	case errors.Is(why, context.Canceled):
		why = terminal.ErrInterrupted
	}
	goOn := "they go on"
	if len(run.targets) == 1 {
		goOn = "it goes on"
	}
	return fmt.Errorf("the outcome of %d of %s is not known: %w; %s, and opledger status says how many are open",
		waiting, phrase.Counted(len(run.targets), "effect"), why, goOn)
}

// look reads some of the targets, which were sent, and returns those that have no outcome yet.
func (r *replayer) look(ctx context.Context, run *replayRun, some []int) (open []int, err error) {
	for chunk := range slices.Chunk(some, lookAtOnce) {
		var names []ledger.EffectName
		waiting := map[ledger.Path]int{}
		for _, i := range chunk {
			target := &run.targets[i]
			target.Effect = target.run(run.nonce)
			names = append(names, ledger.EffectName{Operation: target.Operation, Effect: target.Effect})
			waiting[ledger.EffectPath(target.Operation, target.Effect)] = i
		}
		effects, broken, err := r.writer.Ledger.Effects.Read(ctx, names...)
		if err != nil {
			return nil, err
		}
		for _, b := range broken {
			run.targets[waiting[b.Path]].Status = unreadable
			delete(waiting, b.Path)
		}
		for _, e := range effects {
			i := waiting[ledger.EffectPath(e.Operation, e.Name)]
			delete(waiting, ledger.EffectPath(e.Operation, e.Name))
			if target := &run.targets[i]; !target.see(e, run.began) && !(run.careful && target.failed) {
				open = append(open, i)
			}
		}
		for i := range maps.Values(waiting) { // these have no document
			target := &run.targets[i]
			if target.looks++; target.looks < mostLooks {
				open = append(open, i)
			} else {
				target.Status = unplanned
			}
		}
	}
	slices.Sort(open)
	return open, nil
}

// run is the name of the effect that a message with this nonce runs.
func (t replayTarget) run(nonce string) string {
	if nonce == "" || ledger.RuleOf(t.Effect) != t.Effect {
		return t.Effect
	}
	return t.Effect + "@" + nonce
}

// see takes over the effect's status, and reports whether it is the outcome of a message that was
// sent since then: an effect that is dead was so before, until it has seen the message.
func (t *replayTarget) see(e ledger.Effect, since time.Time) bool {
	t.Status = e.Status()
	if t.ClaimableAt = phrase.NextAttempt(e); e.Failing == nil || !t.ClaimableAt.After(since) {
		t.ClaimableAt = time.Time{}
	}
	t.ran = !e.DiedAt.Before(since) || slices.ContainsFunc(e.Replays, func(r ledger.Replay) bool {
		return !r.At.Before(since)
	})
	t.failed = e.State == ledger.EffectPending && e.Failing != nil && !e.Failing.Last.Before(since)
	return t.Status == operation.EffectDone || t.ran && t.Status != operation.EffectOpen
}

// indices are the numbers below n.
func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
