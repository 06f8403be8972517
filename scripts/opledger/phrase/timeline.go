package phrase

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// An Event is one line of an operation's timeline. Its texts are printable.
type Event struct {
	At time.Time
	// End is when a span of time ended, or now while it lasts; zero for a moment.
	End time.Time
	// Lane is what it happened to: one of the lanes below, or an effect's name.
	Lane  string
	Words string
	Tone  Tone
}

// The lanes of what is no effect's.
const (
	LaneOperation  = "operation"
	LaneDeliveries = "deliveries"
	LaneLookUps    = "look-ups"
)

// A timeline collects events. An event without a time is left out.
type timeline struct {
	view   EffectView
	events []Event
}

func (t *timeline) add(at time.Time, lane string, tone Tone, format string, args ...any) {
	t.span(at, time.Time{}, lane, tone, format, args...)
}

func (t *timeline) span(at, end time.Time, lane string, tone Tone, format string, args ...any) {
	if !at.IsZero() {
		t.events = append(t.events, Event{At: at, End: end, Lane: lane, Words: fmt.Sprintf(format, args...), Tone: tone})
	}
}

// Timeline returns what happened to an operation and its effects, and what comes next, in the order
// of the times: its intent, which may be zero, submission, each delivery with its decision, each
// attempt with its duration and outcome, what operators did. What is later than v.Now is still to
// come.
func (v EffectView) Timeline(s ledger.Story, intent ledger.Intent) []Event {
	t := timeline{view: v}
	t.intent(intent)
	t.record(s.Record)
	for _, d := range s.Deliveries {
		lane := LaneDeliveries
		if d.Source == operation.Reconcile {
			lane = LaneLookUps
		}
		t.add(d.ReceivedAt, lane, deliveryTone(d), "%s", delivered(d))
	}
	if r := s.Record; r.Settled() {
		t.add(r.SettledAt, LaneOperation, StateTone(r.State), "settled %s by %s", r.State, Safe(string(r.SettledBy)))
	}
	for _, e := range s.Effects {
		t.effect(e)
	}
	slices.SortStableFunc(t.events, func(a, b Event) int { return a.At.Compare(b.At) })
	return t.events
}

func (t *timeline) intent(i ledger.Intent) {
	t.add(i.CreatedAt, LaneOperation, Neutral, "intent recorded: %s", Safe(i.CorrelationID))
	t.add(i.RenewedAt, LaneOperation, Neutral, "intent renewed by a restarted submitter")
	t.add(i.AbandonedAt, LaneOperation, Warn, "intent given up")
}

func (t *timeline) record(r operation.Record) {
	ended := r.SettledAt
	if ended.IsZero() {
		ended = t.view.Now
	}
	if ended.After(r.SubmittedAt) {
		tone := Neutral // a later event shows how it ended
		if !r.Settled() {
			tone = Busy
		}
		t.span(r.SubmittedAt, ended, LaneOperation, tone, "submitted")
	} else {
		t.add(r.SubmittedAt, LaneOperation, Neutral, "submitted")
	}
	switch {
	case !r.Registered:
		t.add(r.CreatedAt, LaneOperation, Warn, "first seen, and not registered")
	case r.CreatedAt.Sub(r.SubmittedAt).Abs() >= time.Second:
		t.add(r.CreatedAt, LaneOperation, Neutral, "recorded in the ledger")
	}
	t.add(r.StuckSince, LaneOperation, Warn, "found pending for too long")
	t.add(r.MissingSince, LaneLookUps, Warn, "not found at Gemini")
	if r.Condition != "" && r.Condition != string(ledger.ConditionNotFound) {
		t.add(r.ConditionSince, LaneLookUps, Warn, "inconclusive since then: %s", Safe(r.Condition))
	}
	if c := r.CancelRequested; c != nil {
		t.add(c.At, LaneOperation, Warn, "cancellation requested by %s: %s", Safe(c.By), Safe(c.Why))
	}
	if r.Abandoned != nil {
		t.add(r.Abandoned.At, LaneOperation, Warn, "abandoned by %s: %s", Safe(r.Abandoned.By), Safe(r.Abandoned.Why))
	}
	t.add(r.DueAt, LaneLookUps, Busy, "%s", t.view.due("the next look-up", r.DueAt))
	t.add(r.ExpireAt, LaneOperation, Neutral, "the record expires")
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

func (t *timeline) effect(e ledger.Effect) {
	name := Safe(e.Name)
	t.add(e.CreatedAt, name, Neutral, "planned")
	recorded := false // whether the history's last attempt shows that it is done or dead
	for _, a := range e.History {
		end := a.Ended
		if a.Outcome == "" && running(e, a) {
			end = t.view.Now
		}
		t.span(a.Began, end, name, attemptTone(e, a), "%s", t.view.attempted(e, a))
		recorded = a.Outcome == ledger.AttemptDone || a.Outcome == ledger.AttemptDead
	}
	for _, replay := range e.Replays {
		t.add(replay.At, name, Neutral, "replayed by %s", Safe(replay.By))
	}
	switch {
	case e.Recovered != nil:
		t.add(e.Recovered.At, name, Neutral, "recovered as done by %s", Safe(e.Recovered.By))
	case !recorded:
		t.add(e.DoneAt, name, Good, "done")
		t.add(e.DiedAt, name, Bad, "dead: %s", Readable(e.LastError))
	}
	if e.Abandoned != nil {
		t.add(e.Abandoned.At, name, Neutral, "waived by %s: %s", Safe(e.Abandoned.By), Safe(e.Abandoned.Why))
	}
	switch at := NextAttempt(e); {
	case e.State == ledger.EffectClaimed:
		t.add(e.ClaimableAt, name, Busy, "%s", t.view.due("the lease ends", e.ClaimableAt))
	case !at.IsZero() && t.view.Paused && !at.After(t.view.Now):
		t.add(at, name, Warn, "the next attempt, when the pause ends")
	case !at.IsZero():
		t.add(at, name, Busy, "%s", t.view.due("the next attempt", at))
	}
}

// running reports whether an attempt without an outcome is being made.
func running(e ledger.Effect, a ledger.Attempt) bool {
	return e.State == ledger.EffectClaimed && a.Fence == e.Fence
}

// attempted says how long an attempt took and how it ended.
func (v EffectView) attempted(e ledger.Effect, a ledger.Attempt) string {
	if a.Outcome == "" {
		if running(e, a) {
			return "attempt, being made for " + Span(v.Now.Sub(a.Began))
		}
		return "attempt, whose outcome an earlier version did not record"
	}
	words := fmt.Sprintf("attempt, %s after %s", Safe(string(a.Outcome)), Took(a.Ended.Sub(a.Began)))
	if a.Status != 0 {
		words += fmt.Sprintf(", status %d", a.Status)
	}
	if a.Error != "" {
		words += ": " + Readable(a.Error)
	}
	return words
}

// due says what comes, and how far away it is.
func (v EffectView) due(what string, at time.Time) string {
	if at.After(v.Now) {
		return what + ", in " + Span(at.Sub(v.Now))
	}
	return what + ", " + Due(at, v.Now)
}
