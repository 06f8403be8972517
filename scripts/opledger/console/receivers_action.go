package console

import (
	"context"
	"fmt"
	"slices"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// The names of what can be done to the effects of a receiver.
const (
	replayGroup = "replay-group"
	nowGroup    = "now-group"
	waiveGroup  = "waive-group"
)

// oneFirst is how the effects of a group are tried.
const oneFirst = "One is tried first. The rest follows in groups of up to 100, while the receiver accepts them. A " +
	"failure that would be retried ends it, and so do three refusals for good."

// groupActions are what can be done to the effects that one receiver gets.
var groupActions = []action{
	{
		name: replayGroup, label: "Run them again", about: ofGroup, who: true, runs: true,
		command: "opledger replay --receiver NAME --effect EFFECT",
		title: func(s subject) string {
			return fmt.Sprintf("Run %s of %s again?", phrase.Counted(len(s.Group.Dead), "dead effect"), s.groupName())
		},
		happens: []string{
			"Each dead effect is opened again with all its attempts, and a worker runs it with the same idempotency key.",
			oneFirst,
		},
		can: func(s subject) bool { return s.Group != nil && len(s.Group.Dead) > 0 },
		each: func(
			ctx context.Context, a *actions.Actions, s subject, d decision, say func(actions.Progress),
		) error {
			m := ledger.Message{By: d.By, ID: "replay-" + d.Question}
			return a.ReplayEach(ctx, namesOf(s.Group.Dead), m, say)
		},
	},
	{
		name: nowGroup, label: "Try them now", about: ofGroup, who: true, runs: true,
		command: "opledger replay --receiver NAME --effect EFFECT --now",
		title: func(s subject) string {
			return fmt.Sprintf("Try %s of %s now?", phrase.Counted(len(s.Group.Failing), "effect"), s.groupName())
		},
		happens: []string{
			"The back-off of each effect that failed ends, and a worker tries it at once. Its failures stay counted.",
			oneFirst,
		},
		can: func(s subject) bool { return s.Group != nil && len(s.Group.Failing) > 0 },
		each: func(
			ctx context.Context, a *actions.Actions, s subject, d decision, say func(actions.Progress),
		) error {
			m := ledger.Message{By: d.By, ID: "now-" + d.Question, Now: true}
			return a.ReplayEach(ctx, namesOf(s.Group.Failing), m, say)
		},
	},
	{
		name: waiveGroup, label: "Waive them", about: ofGroup, who: true, why: true,
		command: "opledger waive --receiver NAME --effect EFFECT --reason 'WHY'",
		title: func(s subject) string {
			return fmt.Sprintf("Waive %s of %s?", phrase.Counted(len(s.Group.Dead), "dead effect"), s.groupName())
		},
		happens: []string{
			"Each stays dead, and counts as handled: nothing runs it, and it no longer needs an operator.",
			"Who waived it, when and why is recorded with each. It can still be run again until its record expires.",
		},
		can: func(s subject) bool { return s.Group != nil && len(s.Group.Dead) > 0 },
		each: func(
			ctx context.Context, a *actions.Actions, s subject, d decision, say func(actions.Progress),
		) error {
			return a.WaiveEach(ctx, namesOf(s.Group.Dead), d.Decision, say)
		},
	},
}

// namesOf are the names of effects, the one that was planned first before the others.
func namesOf(effects []ledger.Effect) []ledger.EffectName {
	effects = slices.SortedStableFunc(slices.Values(effects), func(a, b ledger.Effect) int {
		return a.CreatedAt.Compare(b.CreatedAt)
	})
	names := make([]ledger.EffectName, len(effects))
	for i, e := range effects {
		names[i] = ledger.EffectName{Operation: e.Operation, Effect: e.Name}
	}
	return names
}

// groupName names the group in a question.
func (s subject) groupName() string {
	name := phrase.Safe(s.Group.Effect)
	if s.Group.Receiver != "" {
		name += " at " + phrase.Safe(s.Group.Receiver)
	}
	return name
}
