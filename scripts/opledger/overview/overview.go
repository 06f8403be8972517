// Package overview reads what an operator wants to know of a ledger first: what waits, what runs,
// what is dead and why, and what needs an operator. The terminal and the console show the same.
//
// Of each of six lists at most Options.Most documents are read, and the dead effects of as many
// operations, whatever the size of the ledger. Firestore charges a count one read for each 1,000
// documents that it counts, ten at most.
package overview

import (
	"context"
	"errors"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// An Overview is the state of a ledger at one time.
type Overview struct {
	At      time.Time `json:"at"` // by the store's clock
	Pending Pending   `json:"pending"`
	Effects Effects   `json:"effects"`
	Dead    Dead      `json:"dead"`
	Unread  Unread    `json:"quarantine"`
	Intents Intents   `json:"intents"`
	// LastPass is how the last reconcile pass ended, with the webhook's health as it saw it; the zero
	// Pass where none has reported.
	LastPass ledger.Pass `json:"lastPass,omitzero"`
	// Paused: the ledger, or the process that reads, says that effects are paused.
	Paused    bool      `json:"paused"`
	Conflicts Conflicts `json:"conflicts"`
	Problems  []Problem `json:"problems"` // what needs an operator, the most urgent first
	// Partial: a list was longer than what was read of it, so that there may be more problems.
	Partial bool            `json:"partial"`
	Broken  []ledger.Broken `json:"broken,omitempty"`
}

// A Reader is what an Overview is read from. A [ledger.Ledger] is one.
type Reader interface {
	LastPass(context.Context) (ledger.Pass, time.Time, error)
	List(context.Context, ledger.Filter) (ledger.Page[operation.Record], error)
	CountOperations(context.Context, ledger.Filter) (ledger.Total, error)
	OpenEffects(context.Context, ledger.Cursor, int) (ledger.Page[ledger.DueEffect], error)
	CountOpenEffects(context.Context) (ledger.Total, error)
	CountRunningEffects(context.Context) (ledger.Total, error)
	DeadEffects(context.Context, []operation.Record) ([]ledger.Effect, []ledger.Broken, error)
	ListQuarantined(context.Context, ledger.QuarantineFilter) (ledger.Page[ledger.Quarantined], error)
	CountQuarantined(context.Context, ledger.QuarantineFilter) (ledger.Total, error)
	WaitingIntents(context.Context, ledger.Cursor, int) (ledger.Page[ledger.DueIntent], error)
	CountWaitingIntents(context.Context) (ledger.Total, error)
}

// Options say how much is read, and what is late.
type Options struct {
	Interval time.Duration // between two passes
	Most     int           // documents of each list that are read; positive
	Paused   bool          // the settings of the process that reads say so
}

// Pending is what is waited for.
type Pending struct {
	ledger.Total
	// Oldest was submitted first of those that are looked up next; empty: nothing is pending.
	Oldest      operation.Key `json:"oldest,omitempty"`
	SubmittedAt time.Time     `json:"submittedAt,omitzero"`
	// NextAt is when the next look-up is due, and DueSince the same where that is past, else zero.
	NextAt   time.Time `json:"nextAt,omitzero"`
	DueSince time.Time `json:"dueSince,omitzero"`
	// Stuck and Missing count those of the ones looked up next that are pending for too long, and that Gemini does
	// not know.
	Stuck   int  `json:"stuck"`
	Missing int  `json:"missing"`
	more    bool // there are more than were read
}

// Effects are the open effects.
type Effects struct {
	Open    ledger.Total `json:"open"`
	Running ledger.Total `json:"running"`
	// ClaimableSince is since when the first of the open ones could have been run; zero: none could.
	// First is the operation of that effect.
	ClaimableSince time.Time     `json:"claimableSince,omitzero"`
	First          operation.Key `json:"first,omitempty"`
	// Failing counts those of the ones due next whose last attempt failed, and Errors groups them.
	Failing int                   `json:"failing"`
	Errors  []phrase.FailureGroup `json:"errors"`
}

// Dead are the operations with a dead effect, and the other subjects of dead alerts.
type Dead struct {
	ledger.Total
	// Errors groups the dead effects of the newest of them.
	Errors []phrase.FailureGroup `json:"errors"`
}

// Unread is the quarantine.
type Unread struct {
	ledger.Total
	// Malformed counts the signed bodies, of the newest, that no retry has ingested.
	Malformed int `json:"malformed"`
	more      bool
}

// Intents are the intents that wait for their operation.
type Intents struct {
	ledger.Total
	// Abandoned counts those of the next that a pass gave up, and no operator; they are searched for
	// still.
	Abandoned int `json:"abandoned"`
	more      bool
}

// Conflicts are the operations that ended in two ways within ConflictsFor: an event named another end
// than the one that stands [M5].
type Conflicts struct {
	ledger.Total
	// Newest is the operation of the newest such event, and At when that came.
	Newest operation.Key `json:"newest,omitempty"`
	At     time.Time     `json:"at,omitzero"`
}

// ConflictsFor is how long a conflict stays among the problems, unless an operator resolves it before.
// The ledger keeps both ends for as long as the record.
const ConflictsFor = 7 * 24 * time.Hour

// Read reads the overview. A part that cannot be read is zero, beside the others, and the error joins
// the store's for each.
func Read(ctx context.Context, r Reader, options Options) (Overview, error) {
	o := Overview{Paused: options.Paused}
	if err := o.readPass(ctx, r); err != nil {
		return o, err
	}
	var err error
	for _, read := range []func(context.Context, Reader, int) error{
		o.readPending, o.readEffects, o.readDead, o.readQuarantine, o.readIntents, o.readConflicts,
	} {
		err = errors.Join(err, read(ctx, r, options.Most))
	}
	o.judge(options.Interval)
	return o, err
}

func (o *Overview) readPending(ctx context.Context, l Reader, most int) error {
	filter := ledger.Filter{Pending: true, Limit: most}
	page, err := l.List(ctx, filter)
	if err != nil {
		return err
	}
	o.Broken, o.Pending.more = append(o.Broken, page.Broken...), o.partial(page.Next)
	for i, r := range page.Items {
		if i == 0 {
			o.Pending.NextAt = r.DueAt
		}
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

func (o *Overview) readEffects(ctx context.Context, l Reader, most int) error {
	page, err := l.OpenEffects(ctx, ledger.Cursor{}, most)
	if err != nil {
		return err
	}
	o.Broken = append(o.Broken, page.Broken...)
	o.partial(page.Next)
	var failing []ledger.Effect
	for _, item := range page.Items {
		e := item.Effect
		first := o.Effects.ClaimableSince
		if e.ClaimableAt.Before(o.At) && (first.IsZero() || e.ClaimableAt.Before(first)) {
			o.Effects.ClaimableSince, o.Effects.First = e.ClaimableAt, e.Operation
		}
		if e.State == ledger.EffectPending && e.Failing != nil {
			failing = append(failing, e)
		}
	}
	o.Effects.Failing, o.Effects.Errors = len(failing), phrase.GroupFailures(failing)
	if o.Effects.Open, err = l.CountOpenEffects(ctx); err == nil {
		o.Effects.Running, err = l.CountRunningEffects(ctx)
	}
	return err
}

func (o *Overview) readDead(ctx context.Context, l Reader, most int) error {
	filter := ledger.Filter{Dead: true, Limit: most}
	page, err := l.List(ctx, filter)
	if err != nil {
		return err
	}
	effects, broken, err := l.DeadEffects(ctx, page.Items)
	if err != nil {
		return err
	}
	o.Broken = append(append(o.Broken, page.Broken...), broken...)
	o.partial(page.Next)
	o.Dead.Errors = phrase.GroupFailures(effects)
	o.Dead.Total, err = l.CountOperations(ctx, filter)
	return err
}

func (o *Overview) readQuarantine(ctx context.Context, l Reader, most int) error {
	page, err := l.ListQuarantined(ctx, ledger.QuarantineFilter{Limit: most})
	if err != nil {
		return err
	}
	o.Broken, o.Unread.more = append(o.Broken, page.Broken...), o.partial(page.Next)
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

func (o *Overview) readIntents(ctx context.Context, l Reader, most int) error {
	page, err := l.WaitingIntents(ctx, ledger.Cursor{}, most)
	if err != nil {
		return err
	}
	o.Broken, o.Intents.more = append(o.Broken, page.Broken...), o.partial(page.Next)
	for _, item := range page.Items {
		_, decided := item.Intent.Decision()
		if item.Intent.State == ledger.IntentAbandoned && !decided {
			o.Intents.Abandoned++
		}
	}
	o.Intents.Total, err = l.CountWaitingIntents(ctx)
	return err
}

func (o *Overview) readConflicts(ctx context.Context, l Reader, most int) error {
	filter := ledger.Filter{Conflict: true, Since: o.At.Add(-ConflictsFor), Limit: most}
	page, err := l.List(ctx, filter)
	if err != nil {
		return err
	}
	o.Broken = append(o.Broken, page.Broken...)
	if len(page.Items) > 0 {
		o.Conflicts.Newest, o.Conflicts.At = page.Items[0].Key, page.Items[0].ConflictAt
	}
	o.Conflicts.Total, err = l.CountOperations(ctx, filter)
	return err
}

// partial notes and reports whether a list goes on behind what was read.
func (o *Overview) partial(next ledger.Cursor) bool {
	more := next.Path != ""
	o.Partial = o.Partial || more
	return more
}
