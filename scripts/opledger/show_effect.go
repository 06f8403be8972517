package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// An effectView is what show needs to know besides an effect itself.
type effectView struct {
	failed   map[string][]ledger.Item // the first FAILED items, by the name of their effect
	max      int                      // attempts at least before an effect is given up
	retryFor time.Duration            // how long an effect fails at least before it is given up
	paused   bool
	store    string    // --store as typed
	now      time.Time // by the store's clock
}

// An effectJSON is an effect as JSON: what is stored, and what an operator derives from it.
type effectJSON struct {
	ledger.Effect
	MaxAttempts int `json:"maxAttempts"`
	// NextAttemptAt is when a waiting effect may be tried next.
	NextAttemptAt time.Time `json:"nextAttemptAt,omitzero"`
	// NotGivenUpBefore is the earliest time at which a failing effect is given up.
	NotGivenUpBefore time.Time `json:"notGivenUpBefore,omitzero"`
	// FailedItems are the first FAILED items, without their responses.
	FailedItems []ledger.Item `json:"failedItems,omitempty"`
	// Commands are the command lines for a dead effect, by the command's name.
	Commands map[string]string `json:"commands,omitempty"`
}

// A storyJSON is an operation as JSON. An empty list is not null.
type storyJSON struct {
	ledger.Story
	Deliveries []ledger.Delivery `json:"deliveries"`
	Effects    []effectJSON      `json:"effects"`
}

func (v effectView) json(s ledger.Story) storyJSON {
	story := storyJSON{
		Story: s, Deliveries: append([]ledger.Delivery{}, s.Deliveries...), Effects: make([]effectJSON, len(s.Effects)),
	}
	for i, e := range s.Effects {
		story.Effects[i] = effectJSON{
			Effect: e, MaxAttempts: v.max, NextAttemptAt: nextAttempt(e), NotGivenUpBefore: v.notGivenUpBefore(e),
			FailedItems: withoutResponses(v.failed[e.Name]), Commands: v.commands(e),
		}
	}
	return story
}

// nextAttempt is when an effect may be tried next; zero if it is being run, done or dead.
func nextAttempt(e ledger.Effect) time.Time {
	if e.State != ledger.EffectPending {
		return time.Time{}
	}
	return e.ClaimableAt
}

// next is the cell for nextAttempt.
func (v effectView) next(e ledger.Effect) any {
	if at := nextAttempt(e); at.IsZero() || !v.paused || at.After(v.now) {
		return at
	}
	return "when the pause ends"
}

// lastError is the cell for an effect's last error; a done effect has none.
func lastError(e ledger.Effect) string {
	if e.State == ledger.EffectDone {
		return "-"
	}
	return safe(e.LastError)
}

// standing says what an effect waits for; if it is dead, why, and what to do. It is empty for an
// effect that is new, done or waived.
func (v effectView) standing(e ledger.Effect) string {
	name, attempt, early := safe(e.Name), v.attempt(e), e.ClaimableAt.Sub(v.now)
	switch {
	case e.Recovered != nil:
		return fmt.Sprintf("%s was recovered by %s at %s: the log shows that it was done before the ledger was restored",
			name, safe(e.Recovered.By), localTime(e.Recovered.At))
	case e.State == ledger.EffectDead && e.Abandoned == nil:
		commands := v.commands(e)
		return fmt.Sprintf("%s is dead: %s\n  run it again:  %s\n  or waive it:   %s",
			name, safe(e.LastError), commands["replay"], commands["abandon"])
	case e.State == ledger.EffectClaimed && early > 0:
		return fmt.Sprintf("%s is being run: %s; the lease ends in %s", name, attempt, span(early))
	case e.State == ledger.EffectClaimed:
		return fmt.Sprintf("%s can be seized: %s; the lease ended at %s", name, attempt, localTime(e.ClaimableAt))
	case e.State == ledger.EffectPending && early > 0:
		return fmt.Sprintf("%s backs off: %s; the next is in %s\n  last error: %s", name, attempt, span(early),
			safe(e.LastError))
	case e.State == ledger.EffectPending && e.Failing != nil:
		return fmt.Sprintf("%s is due to be tried again: %s\n  last error: %s", name, attempt, safe(e.LastError))
	default:
		return ""
	}
}

// withheld lists the effects of an operation that were withheld, and how to run each.
func (v effectView) withheld(r operation.Record) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(r.Effects)) {
		if r.Effects[name] == operation.EffectWithheld {
			lines = append(lines, fmt.Sprintf("%s was withheld: the operation ended more than OPLEDGER_RETENTION before "+
				"the ledger knew it\n  run it:  opledger replay %s", safe(name), v.arguments(r.Key, name)))
		}
	}
	return lines
}

// commands are the command lines for a dead effect.
func (v effectView) commands(e ledger.Effect) map[string]string {
	if e.State != ledger.EffectDead || e.Abandoned != nil {
		return nil
	}
	arguments := v.arguments(e.Operation, e.Name)
	return map[string]string{
		"replay":  "opledger replay " + arguments,
		"abandon": "opledger abandon " + arguments + " --reason 'WHY'",
	}
}

// arguments name an effect on a command line.
func (v effectView) arguments(key operation.Key, effect string) string {
	arguments := shellWord(string(key)) + " --effect " + shellWord(effect)
	if v.store != "" {
		arguments += " --store " + shellWord(v.store)
	}
	return arguments
}
