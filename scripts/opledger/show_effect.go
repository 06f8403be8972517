package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A telling is what effects are told by: how often and for how long they fail before they are given up, whether they are
// paused, where the ledger is, as typed, the store's time, and the first of the FAILED items by the name of their effect.
type telling struct {
	failed   map[string][]ledger.Item
	max      int
	retryFor time.Duration
	paused   bool
	store    string
	now      time.Time
}

// A toldEffect is an effect as JSON tells it: what is stored, and what follows from it for a person.
type toldEffect struct {
	ledger.Effect
	MaxAttempts int `json:"maxAttempts"`
	// NextAttemptAt is when the effect may be tried next, of one that waits for that.
	NextAttemptAt time.Time `json:"nextAttemptAt,omitzero"`
	// NotGivenUpBefore is when the effect may be given up at the earliest, of an open one that fails.
	NotGivenUpBefore time.Time `json:"notGivenUpBefore,omitzero"`
	// FailedItems are the first of the items that are FAILED, without their responses.
	FailedItems []ledger.Item `json:"failedItems,omitempty"`
	// Commands are what a person can do about a dead effect, by the command's name.
	Commands map[string]string `json:"commands,omitempty"`
}

// A toldStory is a story as JSON tells it. Nothing is an empty list, not null.
type toldStory struct {
	ledger.Story
	Deliveries []ledger.Delivery `json:"deliveries"`
	Effects    []toldEffect      `json:"effects"`
}

func (t telling) told(s ledger.Story) toldStory {
	told := toldStory{Story: s, Deliveries: append([]ledger.Delivery{}, s.Deliveries...), Effects: make([]toldEffect, len(s.Effects))}
	for i, e := range s.Effects {
		told.Effects[i] = toldEffect{
			Effect: e, MaxAttempts: t.max, NextAttemptAt: nextAttempt(e), NotGivenUpBefore: t.notGivenUpBefore(e),
			FailedItems: withoutResponses(t.failed[e.Name]), Commands: t.commands(e),
		}
	}
	return told
}

// nextAttempt is when an effect may be tried next; the zero Time of one that is being run, done or dead.
func nextAttempt(e ledger.Effect) time.Time {
	if e.State != ledger.EffectPending {
		return time.Time{}
	}
	return e.ClaimableAt
}

// next is nextAttempt for a person.
func (t telling) next(e ledger.Effect) any {
	if at := nextAttempt(e); at.IsZero() || !t.paused || at.After(t.now) {
		return at
	}
	return "when the pause ends"
}

// lastError is why an effect failed last; what is done has not failed.
func lastError(e ledger.Effect) string {
	if e.State == ledger.EffectDone {
		return "-"
	}
	return dash(e.LastError)
}

// standing says what an effect waits for, and of one that is dead why, and what to do; nothing of one that needs no words.
func (t telling) standing(e ledger.Effect) string {
	name, attempt, early := dash(e.Name), t.attempt(e), e.ClaimableAt.Sub(t.now)
	switch {
	case e.Recovered != nil:
		return fmt.Sprintf("%s was recovered by %s at %s: the log said that it was done before the ledger was restored", name,
			dash(e.Recovered.By), localTime(e.Recovered.At))
	case e.State == ledger.EffectDead && e.Abandoned == nil:
		commands := t.commands(e)
		return fmt.Sprintf("%s is dead: %s\n  run it again:  %s\n  or waive it:   %s", name, dash(e.LastError), commands["replay"], commands["abandon"])
	case e.State == ledger.EffectClaimed && early > 0:
		return fmt.Sprintf("%s is being run: %s; the lease ends in %s", name, attempt, span(early))
	case e.State == ledger.EffectClaimed:
		return fmt.Sprintf("%s is to be seized: %s; the lease ended at %s", name, attempt, localTime(e.ClaimableAt))
	case e.State == ledger.EffectPending && early > 0:
		return fmt.Sprintf("%s backs off: %s; the next is in %s\n  last error: %s", name, attempt, span(early), dash(e.LastError))
	case e.State == ledger.EffectPending && e.Failing != nil:
		return fmt.Sprintf("%s is to be tried again: %s\n  last error: %s", name, attempt, dash(e.LastError))
	default:
		return ""
	}
}

// withheld says which effects of an operation were not planned, and how to run each.
func (t telling) withheld(r operation.Record) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(r.Effects)) {
		if r.Effects[name] == operation.EffectWithheld {
			lines = append(lines, fmt.Sprintf("%s was withheld: the operation ended longer than OPLEDGER_RETENTION before the ledger heard of it\n"+
				"  run it:  opledger replay %s", dash(name), t.about(r.Key, name)))
		}
	}
	return lines
}

// commands are what a person can do about a dead effect.
func (t telling) commands(e ledger.Effect) map[string]string {
	if e.State != ledger.EffectDead || e.Abandoned != nil {
		return nil
	}
	about := t.about(e.Operation, e.Name)
	return map[string]string{
		"replay":  "opledger replay " + about,
		"abandon": "opledger abandon " + about + " --reason 'WHY'",
	}
}

// about names an effect on a command line.
func (t telling) about(key operation.Key, effect string) string {
	about := typed(string(key)) + " --effect " + typed(effect)
	if t.store != "" {
		about += " --store " + typed(t.store)
	}
	return about
}

// plain is what a shell takes as it is.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)

// typed makes one word of a command line of a text that a stranger may have chosen.
func typed(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(dash(text), "'", `'\''`) + "'"
}
