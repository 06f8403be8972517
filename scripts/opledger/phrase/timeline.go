package phrase

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// An Event is one line of an operation's timeline.
type Event struct {
	At time.Time
	// Lane is what it happened to: "operation", or an effect's name. It is printable, like Words.
	Lane  string
	Words string
}

// operationLane is the lane of what is no effect's.
const operationLane = "operation"

// Timeline returns what happened to an operation and its effects, and what comes next, in the order
// of the times: submission, each delivery with its decision, each attempt with its duration and
// outcome, what operators did. What is later than v.Now is still to come.
func (v EffectView) Timeline(s ledger.Story) []Event {
	var events []Event
	add := func(at time.Time, lane, format string, args ...any) {
		if !at.IsZero() {
			events = append(events, Event{At: at, Lane: lane, Words: fmt.Sprintf(format, args...)})
		}
	}
	r := s.Record
	add(r.SubmittedAt, operationLane, "submitted")
	if r.CreatedAt.Sub(r.SubmittedAt).Abs() >= time.Second {
		add(r.CreatedAt, operationLane, "recorded in the ledger")
	}
	for _, d := range s.Deliveries {
		add(d.ReceivedAt, operationLane, "%s", delivered(d))
	}
	if r.Settled() {
		add(r.SettledAt, operationLane, "settled %s by %s", r.State, Safe(string(r.SettledBy)))
	}
	if r.Abandoned != nil {
		add(r.Abandoned.At, operationLane, "abandoned by %s: %s", Safe(r.Abandoned.By), Safe(r.Abandoned.Why))
	}
	add(r.DueAt, operationLane, "%s", v.due("the next look-up", r.DueAt))
	add(r.ExpireAt, operationLane, "the record expires")
	for _, e := range s.Effects {
		v.effectEvents(e, add)
	}
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
	return events
}

// delivered says what arrived, and what was decided about it.
func delivered(d ledger.Delivery) string {
	words := []string{Safe(string(d.Source))}
	if d.Type != "" {
		words = append(words, Safe(d.Type))
	}
	words = append(words, Safe(string(d.State))+":", Safe(string(d.Outcome)))
	if d.Reason != "" {
		words = append(words, "("+Safe(string(d.Reason))+")")
	}
	return strings.Join(words, " ")
}

// effectEvents adds the events of one effect.
func (v EffectView) effectEvents(e ledger.Effect, add func(time.Time, string, string, ...any)) {
	name := Safe(e.Name)
	add(e.CreatedAt, name, "planned")
	told := false // whether the history ends with the effect's end
	for _, a := range e.History {
		add(a.Began, name, "%s", v.attempted(e, a))
		told = a.Outcome == ledger.AttemptDone || a.Outcome == ledger.AttemptDead
	}
	for _, replay := range e.Replays {
		add(replay.At, name, "replayed by %s", Safe(replay.By))
	}
	switch {
	case e.Recovered != nil:
		add(e.Recovered.At, name, "recovered as done by %s", Safe(e.Recovered.By))
	case !told:
		add(e.DoneAt, name, "done")
		add(e.DiedAt, name, "dead: %s", Safe(e.LastError))
	}
	if e.Abandoned != nil {
		add(e.Abandoned.At, name, "waived by %s: %s", Safe(e.Abandoned.By), Safe(e.Abandoned.Why))
	}
	switch at := NextAttempt(e); {
	case e.State == ledger.EffectClaimed:
		add(e.ClaimableAt, name, "%s", v.due("the lease ends", e.ClaimableAt))
	case !at.IsZero():
		add(at, name, "%s", v.due("the next attempt", at))
	}
}

// attempted says how long an attempt took and how it ended.
func (v EffectView) attempted(e ledger.Effect, a ledger.Attempt) string {
	if a.Outcome == "" {
		if e.State == ledger.EffectClaimed && a.Fence == e.Fence {
			return "attempt, being made for " + Span(v.Now.Sub(a.Began))
		}
		return "attempt, whose end an earlier version did not record"
	}
	words := fmt.Sprintf("attempt, %s after %s", Safe(string(a.Outcome)), Took(a.Ended.Sub(a.Began)))
	if a.Status != 0 {
		words += fmt.Sprintf(", status %d", a.Status)
	}
	if a.Error != "" {
		words += ": " + Safe(a.Error)
	}
	return words
}

// due says what comes, and how far away it is.
func (v EffectView) due(what string, at time.Time) string {
	if at.After(v.Now) {
		return what + ", in " + Span(at.Sub(v.Now))
	}
	return what + ", due for " + Span(v.Now.Sub(at))
}
