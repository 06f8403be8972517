package console

import (
	"context"
	"errors"
	"fmt"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// laterEnd stays true of an abandoned operation [R4].
const laterEnd = "A completion that is reported later still counts: it is applied, and its effects run."

// lookUp asks Gemini. That Gemini does not know the operation is an answer, too.
func lookUp(ctx context.Context, a *actions.Actions, s subject, _ decision) (outcome, error) {
	_, words, err := a.LookUp(ctx, s.Record.Key)
	if gone, is := errors.AsType[actions.GoneError](err); is {
		return goneOutcome(gone.Record), nil
	}
	done := outcome{Words: words}
	if err == nil && s.Conflict {
		done.Then = []string{trueEnd(s.Record)}
	}
	return done, err
}

// goneOutcome is what follows where Gemini does not know an operation.
func goneOutcome(r operation.Record) outcome {
	key := phrase.Safe(string(r.Key))
	switch {
	case r.Settled():
		then := []string{
			"Find in your own records, such as the output of the job, how it really ended.", trueEnd(r),
		}
		if r.Conflicted() {
			then = append(then, fmt.Sprintf("Else the remark leaves the overview %d days after the other state was "+
				"reported.", int(overview.ConflictsFor.Hours()/24)))
		}
		return outcome{
			Title: "Gemini does not know it any more",
			Words: "Gemini does not know " + key + " any more: nothing more can be learned from it. " +
				string(r.State) + " stands.",
			Then: then, Playbook: "conflicts",
		}
	case r.Abandoned != nil:
		return outcome{
			Title: "Gemini does not know it",
			Words: "Gemini does not know " + key + ". It is waited for no longer, and stays " + string(r.State) + ".",
			Then:  []string{laterEnd},
		}
	default:
		return outcome{
			Title: "Gemini does not know it",
			Words: "Gemini does not know " + key + ". It is looked up again at " + phrase.LocalTime(r.DueAt) + ".",
			Then: []string{
				"It may not have ended: Gemini has been seen to find an operation again after days.",
				"If its name is wrong, or the job is gone from Gemini: abandon it. " + laterEnd,
			},
		}
	}
}

// trueEnd says what to do once it is known which of two terminal states is true. An operator can
// resolve the conflict only where the record has both.
func trueEnd(r operation.Record) string {
	other := "the other state"
	if r.ConflictState != "" {
		other = phrase.Safe(string(r.ConflictState))
	}
	words := fmt.Sprintf("If %s is true, nothing is to be undone. If %s is, undo by hand what the effects of %[1]s did.",
		r.State, other)
	if r.Conflicted() {
		words += " Then resolve the conflict."
	}
	return words
}

// run hands an effect to the workers, as a run of its own with rerun.
func run(ctx context.Context, a *actions.Actions, s subject, d decision, rerun string) (outcome, error) {
	m := ledger.Message{
		Operation: s.Record.Key, Effect: s.Effect.Name, Rerun: rerun, By: d.By, ID: "replay-" + d.Question,
	}
	if rerun != "" { // of several who decide on this view one decides
		m.Runs = &s.Effect.Runs
	}
	words, now, err := a.Replay(ctx, m)
	done := outcome{Title: "Started", Words: words, Part: timelinePart,
		Then: []string{"Its outcome will be in the timeline."}}
	if !now {
		done.Title = "Enqueued"
	}
	return done, err
}
