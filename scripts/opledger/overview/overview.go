// Package overview reads what an operator wants to know of a ledger first: what waits, what runs,
// what is dead and why, and what needs an operator. The terminal and the console show the same.
//
// It reads at most about 400 documents, whatever the size of the ledger: counts read none, and of
// each list only the beginning is read.
package overview

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// An Overview is the state of a ledger at one time.
type Overview struct {
	At       time.Time       `json:"at"` // by the store's clock
	Pending  Pending         `json:"pending"`
	Effects  Effects         `json:"effects"`
	Dead     Dead            `json:"dead"`
	Unread   Unread          `json:"quarantine"`
	Intents  Intents         `json:"intents"`
	Problems []Problem       `json:"problems"` // what needs an operator, the most urgent first
	Broken   []ledger.Broken `json:"broken,omitempty"`
}

// Pending is what is waited for.
type Pending struct {
	ledger.Total
	// Oldest was submitted first of the 100 that are looked up next; empty: nothing is pending.
	Oldest      operation.Key `json:"oldest,omitempty"`
	SubmittedAt time.Time     `json:"submittedAt,omitzero"`
	// DueSince is since when the next look-up is due; zero: none is.
	DueSince time.Time `json:"dueSince,omitzero"`
	// Stuck and Missing count those of the 100 that are pending for too long, and that Gemini does
	// not know.
	Stuck   int `json:"stuck"`
	Missing int `json:"missing"`
}

// Effects are the open effects.
type Effects struct {
	Open    ledger.Total `json:"open"`
	Running ledger.Total `json:"running"`
	// ClaimableSince is since when the first of the open ones could have been run; zero: none could.
	// First is the operation of that effect.
	ClaimableSince time.Time     `json:"claimableSince,omitzero"`
	First          operation.Key `json:"first,omitempty"`
	// Failing counts those of the 100 due next whose last attempt failed.
	Failing int `json:"failing"`
}

// Dead are the operations with a dead effect, and the other subjects of dead alerts.
type Dead struct {
	ledger.Total
	// Errors groups the dead effects of the newest 100 of them.
	Errors []phrase.FailureGroup `json:"errors"`
}

// Unread is the quarantine.
type Unread struct {
	ledger.Total
	// Malformed counts the signed bodies, of the newest 50, that no retry has ingested.
	Malformed int `json:"malformed"`
}

// Intents are the intents that wait for their operation.
type Intents struct {
	ledger.Total
	// Abandoned counts those of the next 50 that were given up, and are searched for still.
	Abandoned int `json:"abandoned"`
}

// A Problem needs an operator.
type Problem struct {
	Words   string `json:"problem"`
	Command string `json:"command"` // that shows more of it
}

// OverdueAfter is for how long something may be due before that is a problem, as reconciliation
// alerts: three intervals, and an hour at least [R8].
func OverdueAfter(interval time.Duration) time.Duration { return max(3*interval, time.Hour) }

// Read reads the overview. interval is that between two passes. The error is the store's.
func Read(ctx context.Context, l *ledger.Ledger, interval time.Duration) (Overview, error) {
	var o Overview
	var err error
	if o.At, err = l.Now(ctx); err != nil {
		return o, err
	}
	for _, read := range []func(context.Context, *ledger.Ledger) error{
		o.readPending, o.readEffects, o.readDead, o.readQuarantine, o.readIntents,
	} {
		if err := read(ctx, l); err != nil {
			return o, err
		}
	}
	o.judge(OverdueAfter(interval))
	return o, nil
}

func (o *Overview) readPending(ctx context.Context, l *ledger.Ledger) error {
	filter := ledger.Filter{Pending: true, Limit: 100}
	page, err := l.List(ctx, filter)
	if err != nil {
		return err
	}
	o.Broken = append(o.Broken, page.Broken...)
	for i, r := range page.Items {
		if i == 0 && r.DueAt.Before(o.At) {
			o.Pending.DueSince = r.DueAt
		}
		if o.Pending.Oldest == "" || r.SubmittedAt.Before(o.Pending.SubmittedAt) {
			o.Pending.Oldest, o.Pending.SubmittedAt = r.Key, r.SubmittedAt
		}
		if !r.StuckSince.IsZero() {
			o.Pending.Stuck++
		}
		if !r.MissingAlertedAt.IsZero() {
			o.Pending.Missing++
		}
	}
	o.Pending.Total, err = l.CountOperations(ctx, filter)
	return err
}

func (o *Overview) readEffects(ctx context.Context, l *ledger.Ledger) error {
	page, err := l.OpenEffects(ctx, ledger.Cursor{}, 100)
	if err != nil {
		return err
	}
	o.Broken = append(o.Broken, page.Broken...)
	for _, item := range page.Items {
		e := item.Effect
		first := o.Effects.ClaimableSince
		if e.ClaimableAt.Before(o.At) && (first.IsZero() || e.ClaimableAt.Before(first)) {
			o.Effects.ClaimableSince, o.Effects.First = e.ClaimableAt, e.Operation
		}
		if e.State == ledger.EffectPending && e.Failing != nil {
			o.Effects.Failing++
		}
	}
	if o.Effects.Open, err = l.CountOpenEffects(ctx); err == nil {
		o.Effects.Running, err = l.CountRunningEffects(ctx)
	}
	return err
}

func (o *Overview) readDead(ctx context.Context, l *ledger.Ledger) error {
	filter := ledger.Filter{Dead: true, Limit: 100}
	page, err := l.List(ctx, filter)
	if err != nil {
		return err
	}
	effects, broken, err := l.DeadEffects(ctx, page.Items)
	if err != nil {
		return err
	}
	o.Broken = append(append(o.Broken, page.Broken...), broken...)
	o.Dead.Errors = phrase.GroupFailures(effects)
	o.Dead.Total, err = l.CountOperations(ctx, filter)
	return err
}

func (o *Overview) readQuarantine(ctx context.Context, l *ledger.Ledger) error {
	page, err := l.ListQuarantined(ctx, ledger.QuarantineFilter{Limit: 50})
	if err != nil {
		return err
	}
	o.Broken = append(o.Broken, page.Broken...)
	for _, q := range page.Items {
		if q.Reason != unknownType && q.Outcome != ledger.Applied && q.Outcome != ledger.Dropped &&
			q.Outcome != ledger.Duplicate {
			o.Unread.Malformed++
		}
	}
	o.Unread.Total, err = l.CountQuarantined(ctx, ledger.QuarantineFilter{})
	return err
}

// unknownType is the reason of what is kept although nothing is wrong with it: pings, and types that
// Gemini has added.
const unknownType = "unknown-type"

func (o *Overview) readIntents(ctx context.Context, l *ledger.Ledger) error {
	page, err := l.WaitingIntents(ctx, ledger.Cursor{}, 50)
	if err != nil {
		return err
	}
	o.Broken = append(o.Broken, page.Broken...)
	for _, item := range page.Items {
		if item.Intent.State == ledger.IntentAbandoned {
			o.Intents.Abandoned++
		}
	}
	o.Intents.Total, err = l.CountWaitingIntents(ctx)
	return err
}

// judge fills in the Problems.
func (o *Overview) judge(overdue time.Duration) {
	o.Problems = []Problem{}
	add := func(is bool, command, format string, args ...any) {
		if is {
			o.Problems = append(o.Problems, Problem{Words: fmt.Sprintf(format, args...), Command: "opledger " + command})
		}
	}
	late := func(since time.Time) bool { return !since.IsZero() && o.At.Sub(since) >= overdue }
	add(o.Dead.N > 0, "list --dead", "%s with a dead effect", plural(o.Dead.Total, "operation"))
	add(late(o.Effects.ClaimableSince), "show "+phrase.ShellWord(string(o.Effects.First)),
		"effects could have been run for %s: are they paused, do their workers and the scheduled passes run?",
		phrase.Span(o.At.Sub(o.Effects.ClaimableSince)))
	add(late(o.Pending.DueSince), "list --pending", "a look-up is due for %s: do the scheduled passes run?",
		phrase.Span(o.At.Sub(o.Pending.DueSince)))
	add(o.Pending.Missing > 0, "list --pending", "%s that Gemini does not know",
		phrase.Counted(o.Pending.Missing, "pending operation"))
	add(o.Pending.Stuck > 0, "list --pending", "%s pending for too long", phrase.Counted(o.Pending.Stuck, "operation"))
	add(o.Unread.Malformed > 0, "quarantine list", "%s that could not be read",
		phrase.Counted(o.Unread.Malformed, "signed request"))
	add(o.Intents.Abandoned > 0, "list --intents", "%s given up: no operation was found",
		phrase.Counted(o.Intents.Abandoned, "intent"))
	add(len(o.Broken) > 0, "list", "%s that cannot be read", phrase.Counted(len(o.Broken), "document"))
}

func plural(t ledger.Total, thing string) string {
	if t.N != 1 {
		thing += "s"
	}
	return t.String() + " " + thing
}
