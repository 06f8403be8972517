package effects

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/operation"
)

// mostUntried is how many of the effects that were not tried are printed one by one.
const mostUntried = 10

// report prints the effects that were run again, or with ran false would be.
func (r *replayer) report(run *replayRun, ran bool) error {
	targets, sent := run.targets, run.targets[:run.sent]
	for i := run.sent; ran && i < len(targets); i++ {
		targets[i].untried = true
	}
	if r.outside.JSON {
		report := struct {
			Effects   []replayTarget `json:"effects"`
			Published int            `json:"published"` // messages, to the topic or in this process
			Outcomes  map[string]int `json:"outcomes,omitempty"`
			Rerun     string         `json:"rerun,omitempty"`
			Paused    bool           `json:"paused,omitempty"` // effects run when the pause ends
		}{Effects: append([]replayTarget{}, targets...), Published: run.sent, Rerun: run.nonce, Paused: r.writer.Paused}
		if ran && !r.unwatched() {
			report.Outcomes = countOutcomes(targets)
		}
		return terminal.PrintJSON(r.outside.Out, report)
	}
	out := terminal.NewTable(r.outside.Out)
	backsOff := false
	for i, target := range targets {
		if listed := run.sent + mostUntried; ran && i == listed {
			out.Line(fmt.Sprintf("and %d more that were not tried", len(targets)-listed))
			break
		}
		cells := []any{target.Operation, phrase.Safe(target.Effect), target.Status}
		if target.untried {
			cells = append(cells, "not tried")
		}
		if !target.ClaimableAt.IsZero() {
			backsOff = true
			cells = append(cells, "backs off until "+phrase.LocalTime(target.ClaimableAt))
		}
		out.Line(cells...)
	}
	switch {
	case len(targets) == 0:
		out.Line("nothing to run again: " + run.none)
	case !ran:
		out.Line("would run " + howMany(targets) + " again; " + r.nothing())
	case r.writer.Paused:
		out.Line("effects are paused: accepted " + howMany(sent) +
			"; the open ones run when the pause ends, and serve sweeps")
	case r.unwatched() && r.writer.Left:
		out.Line("left " + howMany(sent) + " to serve; opledger show NAME shows the outcome")
	case r.unwatched():
		out.Line("published a message for each of " + howMany(sent) +
			"; opledger show NAME shows the outcome, opledger status what is dead again")
	case r.writer.Left:
		out.Line("asked serve for " + howMany(sent))
		out.Line(outcomes(targets))
	case !r.here():
		out.Line("published " + phrase.Counted(run.sent, "message") + " for " + howMany(sent))
		out.Line(outcomes(targets))
	default:
		out.Line(howManyRan(sent))
		out.Line(outcomes(targets))
	}
	if backsOff {
		out.Line("effects that back off are retried then; --now tries them at once")
	}
	if ran && run.nonce != "" {
		out.Line(fmt.Sprintf("each is the run @%s of its effect; --rerun=%[1]s again is the same run", run.nonce))
	}
	return out.End()
}

// unwatched reports whether the outcomes are not waited for.
func (r *replayer) unwatched() bool { return !r.here() && r.noWait }

// countOutcomes counts what became of effects, in words.
func countOutcomes(targets []replayTarget) map[string]int {
	counts := map[string]int{}
	for _, target := range targets {
		counts[outcome(target)]++
	}
	return counts
}

// outcomes says what became of effects: "12 done, 1 dead again".
func outcomes(targets []replayTarget) string {
	counts := countOutcomes(targets)
	done := outcome(replayTarget{Status: operation.EffectDone})
	words := []string{fmt.Sprintf("%d %s", counts[done], done)}
	delete(counts, done)
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, fmt.Sprintf("%d %s", counts[word], word))
	}
	return strings.Join(words, ", ")
}

func outcome(t replayTarget) string {
	switch {
	case t.untried:
		return "not tried"
	case t.Status == operation.EffectDead && t.ran:
		return "dead again"
	case t.Status == operation.EffectDead, t.Status == operation.EffectOpen:
		return string(t.Status) + " still"
	default:
		return string(t.Status)
	}
}

// howManyRan counts the effects that had an attempt in this process.
func howManyRan(targets []replayTarget) string {
	ran := slices.DeleteFunc(slices.Clone(targets), func(t replayTarget) bool { return !t.ran })
	switch len(ran) {
	case 0:
		return "ran none of " + howMany(targets) + "; the log says why"
	case len(targets):
		return "ran " + howMany(ran) + ", once each; opledger show NAME shows the outcome"
	default:
		return fmt.Sprintf("ran %d of %s, once each; the log says why the others did not run", len(ran), howMany(targets))
	}
}

// howMany counts effects and their operations.
func howMany(targets []replayTarget) string {
	operations := map[operation.Key]bool{}
	for _, target := range targets {
		operations[target.Operation] = true
	}
	return phrase.Counted(len(targets), "effect") + " of " + phrase.Counted(len(operations), "operation")
}
