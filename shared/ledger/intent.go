package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// An IntentState is how far a submitter's intent has come.
type IntentState string

// The states of an intent: OPEN → BOUND, OPEN → ABANDONED → BOUND, SEEN → BOUND, and ABANDONED → OPEN where a submitter renews
// it. Nothing leads out of BOUND: one intent is one operation.
const (
	IntentOpen      IntentState = "OPEN"      // recorded; the operation that comes of it is not known yet
	IntentAbandoned IntentState = "ABANDONED" // given up, and for a while still searched for; an operation that shows itself is bound
	IntentSeen      IntentState = "SEEN"      // nobody recorded it: a delivery named the id, about an operation that nobody registered
	IntentBound     IntentState = "BOUND"     // the operation is known, and registered
)

// An Intent is what is known of a submitter's correlation id. It is recorded before the operation is submitted, so that a
// submitter which dies in between leaves nothing invisible [G6], and ties the id to the operation that came of it, so that an
// event which carries only the id still finds its operation [K6].
type Intent struct {
	Schema        int         `json:"schema" firestore:"schema"`
	Version       int64       `json:"version" firestore:"version"`
	CorrelationID string      `json:"correlationId" firestore:"correlationId"`
	State         IntentState `json:"state" firestore:"state"`
	// Operation is the one that the id was seen with or is bound to.
	Operation operation.Key `json:"operation,omitempty" firestore:"operation,omitempty"`
	// BoundBy says who showed that Operation: the path of the event that did, or BySubmitter. Only
	// a submitter knows its operation by name; an event knows the name that it came under.
	BoundBy operation.Source `json:"boundBy,omitempty" firestore:"boundBy,omitempty"`
	// JobKind and Metadata are what the operation is registered with; Collection is where it is going to be, if that is known.
	JobKind    string               `json:"jobKind,omitempty" firestore:"jobKind,omitempty"`
	Metadata   operation.Metadata   `json:"metadata,omitempty" firestore:"metadata,omitempty"`
	Collection operation.Collection `json:"collection,omitempty" firestore:"collection,omitempty"`
	CreatedAt  time.Time            `json:"createdAt" firestore:"createdAt"`
	// RenewedAt is when a submitter that started again last said that it is about to submit.
	RenewedAt time.Time `json:"renewedAt,omitzero" firestore:"renewedAt,omitempty"`
	// GiveUpAt is when an OPEN intent is given up, where nothing was found by then.
	GiveUpAt time.Time `json:"giveUpAt,omitzero" firestore:"giveUpAt,omitempty"`
	// AbandonedAt is when it was given up, perhaps before it was bound after all.
	AbandonedAt time.Time `json:"abandonedAt,omitzero" firestore:"abandonedAt,omitempty"`
	// Names are what deliveries called the operation while Gemini did not know it; see KeepName.
	Names []KeptName `json:"names,omitempty" firestore:"names,omitempty"`
	// Writer is the call that wrote this; as in Delivery.
	Writer string `json:"writer,omitempty" firestore:"writer,omitempty"`
	// DueAt is when a pass must look at a waiting intent again: to give it up, or to look for its
	// operation. Where nothing is looked for any more there is ExpireAt instead.
	DueAt    time.Time `json:"dueAt,omitzero" firestore:"dueAt,omitempty"`
	ExpireAt time.Time `json:"expireAt,omitzero" firestore:"expireAt,omitempty"`
	// Created says of what Intend returned that this very call recorded it; Kept names the fields
	// of which it says otherwise than the call did; Withheld is that of the registration that
	// Intend made. None is stored.
	Created  bool     `json:"-" firestore:"-"`
	Kept     []string `json:"-" firestore:"-"`
	Withheld int      `json:"-" firestore:"-"`
}

// BySubmitter stands in BoundBy where a submitter registered the operation with its correlation id.
const BySubmitter operation.Source = "submitter"

// Waiting reports whether the intent's operation is still to be found.
func (i Intent) Waiting() bool { return i.State == IntentOpen || i.State == IntentAbandoned }

// AttemptedAt is when a submitter last said that it is about to submit: the later of CreatedAt and RenewedAt.
func (i Intent) AttemptedAt() time.Time {
	if i.RenewedAt.After(i.CreatedAt) {
		return i.RenewedAt
	}
	return i.CreatedAt
}

// elsewhere returns the operation that an event means which carries the intent's id and the name of
// key, an operation that nobody registered; "" where it means key itself.
//
// A submitter knows its operation's name, so another name under its id is another form of that name
// [K6]. That holds only for a name that Gemini did not issue: an issued one is that of another
// operation, see disputed. An intent that an event has bound proves nothing about other names: the
// other may be that of a job submitted twice, and stays what it is.
func (i Intent) elsewhere(key operation.Key) operation.Key {
	if key.Issued() {
		return ""
	}
	return i.registered(key)
}

// disputed returns the operation that a submitter registered with the intent's id, where an event
// carries the id and the name of another operation; "" where it does not. Nothing of the event is
// believed about the one that is returned, but that Gemini should be asked about it.
func (i Intent) disputed(key operation.Key) operation.Key {
	if !key.Issued() {
		return ""
	}
	return i.registered(key)
}

// registered returns the operation that a submitter registered with the intent's id, if that is not
// key.
func (i Intent) registered(key operation.Key) operation.Key {
	if i.State != IntentBound || i.BoundBy != BySubmitter || i.Operation == key {
		return ""
	}
	return i.Operation
}

// bound returns the intent as it is once key is known to be its operation.
func (i Intent) bound(key operation.Key, by operation.Source) Intent {
	i.State, i.Operation, i.BoundBy = IntentBound, key, by
	return i
}

// ErrNoIntent: the ledger knows nothing of the correlation id.
var ErrNoIntent = errors.New("the ledger has no such intent")

// Intent returns what is known of a correlation id. ErrNoIntent: nothing is.
func (l *Ledger) Intent(ctx context.Context, correlationID string) (Intent, error) {
	doc, intent, err := l.intent(ctx, correlationID)
	if err == nil && !doc.Exists() {
		err = fmt.Errorf("%q: %w", correlationID, ErrNoIntent)
	}
	return intent, err
}

// intent reads what is known of a correlation id [K6].
func (l *Ledger) intent(ctx context.Context, id string) (Document, Intent, error) {
	snapshot, err := l.store.Get(ctx, intentPath(id))
	if err != nil {
		return Document{}, Intent{}, fmt.Errorf("finding the operation of correlation id %q: %w", id, err)
	}
	intent, err := readIntent(snapshot.Documents[0])
	return snapshot.Documents[0], intent, err
}

// readIntent decodes an intent; one that does not exist is the zero Intent.
func readIntent(d Document) (Intent, error) {
	return decode(d, func(intent Intent) Path { return intentPath(intent.CorrelationID) })
}

// writeIntent is the only place where an intent is made ready to be written: it counts the version and settles how long the
// intent is waited for, and kept. It is kept twice the retention, as what may still be done of it must not find it forgotten.
func (l *Ledger) writeIntent(d Document, intent Intent, now time.Time) Write {
	intent.Schema = operation.SchemaVersion
	intent.Version++
	if intent.CreatedAt.IsZero() {
		intent.CreatedAt = operation.Instant(now)
	}
	intent.GiveUpAt, intent.DueAt, intent.ExpireAt = time.Time{}, l.nextSearch(intent, now), time.Time{}
	switch {
	case intent.State == IntentOpen:
		intent.GiveUpAt = intent.AttemptedAt().Add(l.settings.StuckAfter)
		if intent.DueAt.IsZero() || intent.DueAt.After(intent.GiveUpAt) {
			intent.DueAt = intent.GiveUpAt
		}
	case intent.DueAt.IsZero():
		intent.ExpireAt = operation.Instant(now.Add(2 * l.settings.Retention))
	}
	return Write{Path: d.Path, Token: d.Token, Data: intent}
}

// A correlation is what the correlation id of an event comes to that is about an operation which nobody registered.
type correlation struct {
	doc    Document
	intent Intent
}

// seen returns the write that remembers the id of an event, where nothing is known of the id yet,
// so that a registration under another name finds what the event said [K6].
func (l *Ledger) seen(c correlation, e operation.Event, now time.Time) []Write {
	if c.doc.Path == "" || c.doc.Exists() {
		return nil
	}
	return []Write{l.writeIntent(c.doc, Intent{
		CorrelationID: e.CorrelationID, State: IntentSeen, Operation: e.Key, BoundBy: e.Source,
	}, now)}
}

// adopt registers an operation that shows itself by an event with the id of an intent that waits for it [G6].
func (l *Ledger) adopt(rec operation.Record, c correlation, e operation.Event, now time.Time) (operation.Record, Write, error) {
	rec, err := l.merge(rec, Registration{
		Name: e.Name, JobKind: c.intent.JobKind, Metadata: c.intent.Metadata,
		SubmittedAt: c.intent.AttemptedAt(), CorrelationID: c.intent.CorrelationID,
	}, now)
	return rec, l.writeIntent(c.doc, c.intent.bound(e.Key, e.Source), now), err
}
