// Package overview reads what an operator wants to know of a ledger first: what waits, what runs,
// what is dead and why, and what needs an operator. The terminal and the console show the same.
//
// Of each list at most Options.Most documents are read, and the dead effects of as many
// operations, whatever the size of the ledger. Firestore charges a count one read for each 1,000
// documents that it counts, ten at most.
package overview

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	// Unregistered are operations that deliveries alone reported: no effect of theirs runs [W5].
	Unregistered Unregistered `json:"unregistered"`
	Jobs         Jobs         `json:"jobs"`
	// LastPass is how the last reconcile pass ended, with the webhook's health as it saw it; the zero
	// Pass where none has reported.
	LastPass ledger.Pass `json:"lastPass,omitzero"`
	// Unanswered are the look-ups of the last pass that asked Gemini, if Gemini answered none of them.
	Unanswered *ledger.Unanswered `json:"unanswered,omitempty"`
	Refused    Refused            `json:"refused"`
	// Undelivered are completions that no delivery reported, though Gemini delivers to the webhook.
	Undelivered Undelivered `json:"undelivered,omitzero"`
	// WrongSecret is a secret that Gemini signs with and the webhook does not know, by the last pass that compared them.
	WrongSecret *ledger.WrongSecret `json:"wrongSecret,omitempty"`
	// Paused: the ledger says that effects are paused, or the process that reads does, and the ledger does not know.
	Paused bool `json:"paused"`
	// Serve is what is known of the serve that works on the ledger's file.
	Serve Serve `json:"serve,omitzero"`
	// PausedHere: the process that reads alone says so. The ledger says that they are run.
	PausedHere bool      `json:"pausedHere,omitempty"`
	Conflicts  Conflicts `json:"conflicts"`
	// LeftOut are the effects that a start left out, unless an operator has resolved that.
	LeftOut  []LeftOut `json:"leftOut,omitempty"`
	Problems []Problem `json:"problems"` // what needs an operator, the most urgent first
	// Notes need no operator yet: what is on its way to become a problem, or was asked for.
	Notes []Problem `json:"notes,omitempty"`
	// Partial: a list was longer than what was read of it, so that there may be more problems.
	Partial bool            `json:"partial"`
	Broken  []ledger.Broken `json:"broken,omitempty"`

	rules []string // Options.Rules
	store string   // Options.StoreFlag
}

// Options say how much is read, and what is late.
type Options struct {
	Interval time.Duration // between two passes
	Most     int           // documents of each list that are read; positive
	Paused   bool          // the settings of the process that reads say so
	// File: the ledger is a file, which opledger serve works on.
	File bool
	// Rules are the names of the effects that a worker can perform; nil: they are not known.
	Rules []string
	// Serve is what is known of the serve that works on the file.
	Serve Serve
	// StoreFlag follows the commands, such as " --store sqlite:demo.db"; empty: they find the ledger by themselves.
	StoreFlag string
}

// Pending is what is waited for.
type Pending struct {
	ledger.Total
	// Oldest was submitted first of those that are late, or where none is, that will be first; empty: nothing
	// is pending.
	Oldest      operation.Key `json:"oldest,omitempty"`
	SubmittedAt time.Time     `json:"submittedAt,omitzero"`
	// NextAt is when the next look-up is due, and DueSince the same where that is past, else zero.
	NextAt   time.Time `json:"nextAt,omitzero"`
	DueSince time.Time `json:"dueSince,omitzero"`
	// Late counts those that are pending for too long, or were alerted as missing, and Missing those of the first of
	// them that Gemini does not know.
	Late    ledger.Total `json:"late"`
	Missing int          `json:"missing"`
	// Partial: there are more late ones than were read, and Missing is what those are at least.
	Partial bool `json:"partial,omitempty"`
	// MissingLately are those that Gemini does not know and that are not late yet, of a ledger in a file.
	MissingLately Missing `json:"missingLately,omitzero"`
}

// Missing are operations that Gemini does not know, of the ones that are due next.
type Missing struct {
	Count int           `json:"count"`
	First operation.Key `json:"first,omitempty"`
	Since time.Time     `json:"since,omitzero"` // of the first that Gemini did not know
	// Partial: there are more pending ones than were read.
	Partial bool `json:"partial,omitempty"`
}

// Effects are the open effects.
type Effects struct {
	Open    ledger.Total `json:"open"`
	Running ledger.Total `json:"running"`
	// ClaimableSince is since when the first of the open ones could have been run; zero: none could.
	// First is the operation of that effect.
	ClaimableSince time.Time     `json:"claimableSince,omitzero"`
	First          operation.Key `json:"first,omitempty"`
	// Failing counts those of the ones due next whose last attempt failed.
	Failing int `json:"failing"`
	// FailingLately counts those of them that are not Long, and Errors groups these.
	FailingLately int                   `json:"failingLately"`
	Errors        []phrase.FailureGroup `json:"errors"`
	// FailingFirst is the operation of the first of these.
	FailingFirst operation.Key `json:"failingFirst,omitempty"`
	// Unknown are those of the ones due next whose rule no worker has: the first of each name.
	Unknown []UnknownEffect `json:"unknown,omitempty"`
	// Long are those that have been failing for FailingFor or longer.
	Long Failing `json:"failingLong"`
	// Partial: there are more open ones than were read. Failing, FailingLately, Errors and Unknown count at least so many.
	Partial bool `json:"partial,omitempty"`
}

// An UnknownEffect is open effects of a rule that no worker has: they wait until one has it.
type UnknownEffect struct {
	Name string `json:"name"` // of the rule
	// Count is how many of the effects that were read are of it, and Operation that of the first.
	Count     int           `json:"count"`
	Operation operation.Key `json:"operation"`
}

// Failing are open effects that have been failing for FailingFor or longer.
type Failing struct {
	ledger.Total
	// Since is when the first of them began to fail. Operation is that effect's, and Error its last.
	Since     time.Time     `json:"since,omitzero"`
	Operation operation.Key `json:"operation,omitempty"`
	Error     string        `json:"error,omitempty"`
	// Errors groups those of them that were read, and all unless Partial.
	Errors  []phrase.FailureGroup `json:"errors,omitempty"`
	Partial bool                  `json:"partial,omitempty"`
}

// FailingFor is for how long an open effect may fail before that needs an operator.
const FailingFor = time.Hour

// Dead are the operations with a dead effect, and the other subjects of dead alerts.
type Dead struct {
	ledger.Total
	// Errors groups the dead effects of the newest of them, and of all unless Partial: then Newest is of how many.
	Errors  []phrase.FailureGroup `json:"errors"`
	Partial bool                  `json:"partial,omitempty"`
	Newest  int                   `json:"newest,omitempty"`
}

// Of says which operations Errors is of; empty: of all.
func (d Dead) Of() string {
	if !d.Partial {
		return ""
	}
	return "of the newest " + phrase.Counted(d.Newest, "operation") + " with a dead effect"
}

// Unread is the quarantine.
type Unread struct {
	ledger.Total
	// Unresolved counts the signed bodies that no retry has ingested and no operator has resolved.
	Unresolved ledger.Total `json:"unresolved"`
}

// Unregistered are operations that are not registered, and that no operator has resolved.
type Unregistered struct {
	ledger.Total
	// Newest is the operation that was first seen last, and At when that was.
	Newest operation.Key `json:"newest,omitempty"`
	At     time.Time     `json:"at,omitzero"`
	// Long counts those that were not registered within UnregisteredFor.
	Long ledger.Total `json:"long"`
}

// UnregisteredFor is how long a submitter may take to register an operation whose event came first.
const UnregisteredFor = time.Hour

// Intents are the intents that wait for their operation.
type Intents struct {
	ledger.Total
	// Abandoned counts those of the next that a pass gave up, and no operator; they are searched for
	// still.
	Abandoned int `json:"abandoned"`
	// Partial: there are more that wait than were read, and Abandoned is what those are at least.
	Partial bool `json:"partial,omitempty"`
	decided int  // those of the next that an operator abandoned; they are searched for still, too
}

// Words say of the intents that their operation is not known, and how many of them are only searched for.
func (i Intents) Words() string {
	words := "their operation is not known yet"
	if i.N == 1 {
		words = "its operation is not known yet"
	}
	if i.decided > 0 {
		words += ", " + AtLeast(i.Partial, fmt.Sprint(i.decided)) + " abandoned"
	}
	if i.Abandoned > 0 {
		words += ", " + AtLeast(i.Partial, fmt.Sprint(i.Abandoned)) + " given up"
	}
	return words
}

// Jobs are the jobs that have not ended.
type Jobs struct {
	ledger.Total
	// Stopped are those that go on only once an operator has acted: of the newest, and all that are held.
	Stopped []StoppedJob `json:"stopped,omitempty"`
	// Paused are those that an operator has paused: of the newest, and all that are held.
	Paused []StoppedJob `json:"paused,omitempty"`
	// Partial: there are more than were read, and Stopped may lack some.
	Partial bool `json:"partial,omitempty"`
	// Unmatched are those with lines of results that answer no request [J9]: of the newest that were read, and of those
	// that ended within ledger.UnmatchedFor.
	Unmatched []UnmatchedJob `json:"unmatched,omitempty"`
}

// An UnmatchedJob is a job with lines of results that answer no request.
type UnmatchedJob struct {
	Key   operation.Key `json:"key"`
	Words string        `json:"words"` // how many, and where they are
}

// A StoppedJob is a job that opledger or an operator holds, or whose batches Gemini refuses for its key.
type StoppedJob struct {
	Key operation.Key `json:"key"`
	Why string        `json:"why"` // in words
}

// Conflicts are the operations that ended in two ways within ConflictsFor: an event named another
// terminal state than the one that stands [M5].
type Conflicts struct {
	ledger.Total
	// Newest is the operation of the newest such event, and At when that came.
	Newest operation.Key `json:"newest,omitempty"`
	At     time.Time     `json:"at,omitzero"`
}

// ConflictsFor is how long a conflict stays among the problems, unless an operator resolves it
// before. The ledger keeps both states for as long as the record.
const ConflictsFor = 7 * 24 * time.Hour

// Read reads the overview. A part that cannot be read is zero, beside the others, and the error joins
// the store's for each.
func Read(ctx context.Context, r ledger.Reading, options Options) (Overview, error) {
	o := Overview{Paused: options.Paused, Serve: options.Serve, rules: options.Rules, store: options.StoreFlag}
	if err := o.readPass(ctx, r); err != nil {
		return o, err
	}
	var err error
	for _, read := range []func(context.Context, ledger.Reading, int) error{
		o.readRefused, o.readPending, o.readLate, o.readEffects, o.readFailing, o.readDead, o.readQuarantine, o.readIntents,
		o.readConflicts, o.readUnregistered, o.readJobs, o.readLeftOut,
	} {
		err = errors.Join(err, read(ctx, r, options.Most))
	}
	if options.File { // a deployment has alerts for these, and pays for what is read
		err = errors.Join(err, o.readUndelivered(ctx, r), o.readMissingLately(ctx, r, options.Most))
	}
	seen := map[ledger.Path]bool{} // several lists may have the same document
	o.Broken = slices.DeleteFunc(o.Broken, func(b ledger.Broken) bool {
		before := seen[b.Path]
		seen[b.Path] = true
		return before
	})
	o.judge(options)
	return o, err
}
