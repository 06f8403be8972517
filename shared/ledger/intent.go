package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// An IntentState is the state of a submitter's intent.
type IntentState string

// The states of an intent: OPEN → BOUND, OPEN → ABANDONED → BOUND, SEEN → BOUND, and ABANDONED →
// OPEN where a submitter renews it. Nothing leads out of BOUND: one intent is one operation.
const (
	IntentOpen      IntentState = "OPEN"      // recorded; its operation is not known yet
	IntentAbandoned IntentState = "ABANDONED" // given up, still bound if found
	IntentSeen      IntentState = "SEEN"      // not recorded: an event had the id, about an unregistered operation
	IntentBound     IntentState = "BOUND"     // its operation is known and registered
)

// An Intent is what is known of a submitter's correlation id. It is recorded before the submission,
// so that the job of a submitter that dies in between is found [G6]. It ties the id to its
// operation, so that an event which carries only the id finds the operation [K6].
type Intent struct {
	Schema  int   `json:"schema" firestore:"schema"`
	Version int64 `json:"version" firestore:"version"`
	// Submission is what the operation is registered with. It has a correlation id.
	operation.Submission
	State IntentState `json:"state" firestore:"state"`
	// Operation is the one that the id was seen with, or is bound to.
	Operation operation.Key `json:"operation,omitempty" firestore:"operation,omitempty"`
	// BoundBy is who named Operation: the path of an event, or BySubmitter. Only a submitter knows
	// its operation's name for certain; an event knows the name that it came under.
	BoundBy operation.Source `json:"boundBy,omitempty" firestore:"boundBy,omitempty"`
	// Collection is where the operation will be, if that is known.
	Collection operation.Collection `json:"collection,omitempty" firestore:"collection,omitempty"`
	CreatedAt  time.Time            `json:"createdAt" firestore:"createdAt"`
	// RenewedAt is when a restarted submitter last announced a submission.
	RenewedAt time.Time `json:"renewedAt,omitzero" firestore:"renewedAt,omitempty"`
	// Attempt is the submission that was last announced. An older revision that renews the intent
	// leaves it behind: it counts only while its time is AttemptedAt [L5].
	Attempt *IntentAttempt `json:"attempt,omitempty" firestore:"attempt,omitempty"`
	// GiveUpAt is when an OPEN intent is given up, unless its operation is found.
	GiveUpAt time.Time `json:"giveUpAt,omitzero" firestore:"giveUpAt,omitempty"`
	// AbandonedAt is when it was given up, perhaps before it was bound after all.
	AbandonedAt time.Time `json:"abandonedAt,omitzero" firestore:"abandonedAt,omitempty"`
	// Abandoned is the operator's decision to end the waiting; see [Intent.Decision].
	Abandoned *operation.Decided `json:"abandoned,omitempty" firestore:"abandoned,omitempty"`
	// Names are the names that deliveries gave the operation while Gemini did not know them; see
	// KeepName.
	Names []KeptName `json:"names,omitempty" firestore:"names,omitempty"`
	// Writer is the call that wrote this; as in Delivery.
	Writer string `json:"writer,omitempty" firestore:"writer,omitempty"`
	// DueAt is when a pass must process a waiting intent again: to search for its operation, or to
	// give it up. Where the search is over there is ExpireAt instead.
	DueAt    time.Time `json:"dueAt,omitzero" firestore:"dueAt,omitempty"`
	ExpireAt time.Time `json:"expireAt,omitzero" firestore:"expireAt,omitempty"`
	// Created, in what Intend returned: this call recorded the intent. Verdict is what the caller may
	// do. WaitUntil and WaitFor, with MustWait, are when and in which time asking again may help; zero
	// where time does not. Kept names the fields in which the stored intent differs from the call's.
	// Withheld is that of the registration that Intend made. None is stored.
	Created   bool          `json:"-" firestore:"-"`
	Verdict   IntentVerdict `json:"-" firestore:"-"`
	WaitUntil time.Time     `json:"-" firestore:"-"`
	WaitFor   time.Duration `json:"-" firestore:"-"`
	Kept      []string      `json:"-" firestore:"-"`
	Withheld  int           `json:"-" firestore:"-"`
}

// BySubmitter is the BoundBy of an operation that a submitter registered with its correlation id.
const BySubmitter operation.Source = "submitter"

// Waiting reports whether the intent's operation is still to be found.
func (i Intent) Waiting() bool { return i.State == IntentOpen || i.State == IntentAbandoned }

// AttemptedAt is when a submitter last announced a submission: the later of CreatedAt and
// RenewedAt.
func (i Intent) AttemptedAt() time.Time { return operation.Later(i.CreatedAt, i.RenewedAt) }

// ErrNoIntent: the ledger does not know the correlation id.
var ErrNoIntent = errors.New("the ledger has no such intent")

// Read returns what is known of a correlation id. Errors: ErrNoIntent; else the store's.
func (l intentsReader) Read(ctx context.Context, correlationID string) (Intent, error) {
	intent, doc, _, err := l.intent(ctx, correlationID)
	if err == nil && !doc.Exists() {
		err = fmt.Errorf("%q: %w", correlationID, ErrNoIntent)
	}
	return intent, err
}

// Of returns the intent of an operation; the zero Intent where it has none, or where its intent
// has expired. It reads a document where the record has a correlation id. Errors: the store's.
func (l intentsReader) Of(ctx context.Context, rec operation.Record) (Intent, error) {
	if rec.CorrelationID == "" {
		return Intent{}, nil
	}
	intent, _, _, err := l.intent(ctx, rec.CorrelationID)
	return intent, err
}

// intent reads what is known of a correlation id, its document, and what was read with it; the zero
// Intent where nothing is known [K6].
func (l *protocol) intent(ctx context.Context, id string) (Intent, Document, Snapshot, error) {
	snapshot, err := l.store.Get(ctx, intentPath(id))
	if err != nil {
		return Intent{}, Document{}, snapshot, fmt.Errorf("reading the intent %q: %w", id, err)
	}
	intent, err := readIntent(snapshot.Documents[0])
	return intent, snapshot.Documents[0], snapshot, err
}

// readIntent decodes an intent; one that does not exist is the zero Intent.
func readIntent(d Document) (Intent, error) {
	return decode(d, func(intent Intent) Path { return intentPath(intent.CorrelationID) })
}

// writeIntent returns the write of an intent as nextIntent returns it.
func (l *protocol) writeIntent(d Document, intent Intent, now time.Time) Write {
	return Write{Path: d.Path, Token: d.Token, Data: l.nextIntent(intent, now)}
}

// nextIntent returns the intent as it is written, with its version counted and its lifetime decided.
// Every intent goes through it. An intent that is no longer waited for is kept twice the
// retention, so that a late registration or event still finds it.
func (l *protocol) nextIntent(intent Intent, now time.Time) Intent {
	intent.Schema = max(intent.Schema, operation.SchemaVersion)
	if operation.Reserved(intent.CorrelationID) {
		intent.Schema = max(intent.Schema, jobSchema)
	}
	intent.Version++
	if intent.CreatedAt.IsZero() {
		intent.CreatedAt = operation.Instant(now)
	}
	before := intent.DueAt
	intent.GiveUpAt, intent.DueAt, intent.ExpireAt = time.Time{}, l.nextSearch(intent, now), time.Time{}
	switch {
	case intent.State == IntentOpen:
		intent.GiveUpAt = intent.AttemptedAt().Add(l.settings.StuckAfter)
		for _, due := range []time.Time{l.nextListing(intent, now), intent.GiveUpAt} {
			if intent.DueAt.IsZero() || !due.IsZero() && due.Before(intent.DueAt) {
				intent.DueAt = due
			}
		}
	case intent.DueAt.IsZero():
		intent.ExpireAt = operation.Instant(now.Add(2 * l.settings.Retention))
	}
	if !intent.DueAt.IsZero() && !intent.DueAt.Equal(before) {
		intent.DueAt = dueFrom(intent.DueAt, now)
	}
	return intent
}
