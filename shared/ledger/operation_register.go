package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Registration says that an operation was submitted and matters.
type Registration struct {
	Name          operation.Name
	JobKind       string
	Metadata      operation.Metadata
	SubmittedAt   time.Time // zero: now
	CorrelationID string    // the submitter's own id, if it gave the job one [K6]
	// By says who ties the id to the operation, as Intent.BoundBy does; empty: BySubmitter.
	By operation.Source
}

// Registered says what Register did.
type Registered struct {
	Record  operation.Record // as it stands now
	Created bool             // whether the ledger did not know the operation before
	Planned int              // how many effects it planned, where the operation had already ended
	// Withheld: as in Receipt.
	Withheld int
	// Merged says what became of what the registration says of an operation that was registered
	// before, and whether its correlation id was left out. After a commit whose answer was lost
	// Added is empty.
	Merged
	// CorrelationErr is ErrCorrelation where the correlation id stands for another operation already, or the operation has
	// another id: it is registered all the same, without the id.
	CorrelationErr error
	// PublishErr: as in Receipt.
	PublishErr error
}

// ErrCorrelation: the correlation id and the operation do not belong together, because one of them is tied already. One id is
// one operation.
var ErrCorrelation = errors.New("the correlation id and the operation do not belong together")

// Register makes the operation's record, the instant its name is known [L2], or adds to the one that is there: the job kind
// only where there is none, metadata only fields that are new. Where deliveries came first, what they said holds and its
// effects are planned in the same commit [W5]. An intent that waits under the correlation id is bound in it, too, and says
// the job kind and the metadata where the registration says none [G6].
//
// Registering the same again changes nothing and is safe to repeat; after a commit whose answer was lost it says that the
// operation is known. Effects are planned when an operation is first registered, or first given a job kind: a rule that was
// added later plans nothing for what was registered before. Errors: as Ingest.
func (l *Ledger) Register(ctx context.Context, r Registration) (Registered, error) {
	var result Registered
	var messages []Message
	err := l.decide(ctx, "registering "+string(r.Name.Key), func(tries int) error {
		var err error
		result, messages, err = l.register(ctx, r, tries > 0)
		return err
	})
	if err != nil {
		return Registered{}, err
	}
	result.PublishErr = l.send(ctx, messages)
	return result, nil
}

func (l *Ledger) register(ctx context.Context, r Registration, again bool) (Registered, []Message, error) {
	paths := []Path{OperationPath(r.Name.Key)}
	if r.CorrelationID != "" {
		paths = append(paths, intentPath(r.CorrelationID))
	}
	fixed := len(paths)
	if again {
		// The race may have been lost to an effect that is already there.
		paths = append(paths, l.effectPaths(r.Name.Key)...)
	}
	snapshot, err := l.store.Get(ctx, paths...)
	if err != nil {
		return Registered{}, nil, err
	}
	doc, now := snapshot.Documents[0], snapshot.ReadTime
	before, err := readRecord(doc)
	if err != nil {
		return Registered{}, nil, err
	}
	var bound binding
	said := r
	if r.CorrelationID != "" {
		if bound, err = l.bind(ctx, snapshot.Documents[1], before, r, now); err != nil {
			return Registered{}, nil, err
		}
		r = bound.registration
	}
	rec, err := l.merge(before, r, now)
	if err != nil {
		return Registered{}, nil, err
	}
	merged, err := said.mergedInto(before, bound.refused != nil)
	if err != nil {
		return Registered{}, nil, err
	}
	planned := plan{record: bound.heard(l, rec, now)}
	if rec = planned.record; !before.Registered || before.JobKind != rec.JobKind || before.State != rec.State {
		existing, err := readEffects(snapshot.Documents[fixed:])
		if err != nil {
			return Registered{}, nil, err
		}
		if planned, err = l.plan(ctx, rec, existing, bound.intent, now); err != nil {
			return Registered{}, nil, err
		}
	}
	writes := bound.writes
	if doc.Exists() && len(writes) == 0 && reflect.DeepEqual(planned.record, before) {
		return Registered{Record: before, Merged: merged, CorrelationErr: bound.refused}, nil, nil
	}
	rec, write := l.writeRecord(doc, planned.record, now)
	if err := l.store.Commit(ctx, append(append(writes, planned.writes...), write)...); err != nil {
		return Registered{}, nil, err
	}
	return Registered{
		Record: rec, Created: !doc.Exists(), Planned: len(planned.messages), Withheld: planned.withheld, Merged: merged,
		CorrelationErr: bound.refused,
	}, planned.messages, nil
}

// merge returns rec, which is the zero Record for an operation that the ledger does not know, with what r adds to it.
func (l *Ledger) merge(rec operation.Record, r Registration, now time.Time) (operation.Record, error) {
	if rec.Key == "" {
		rec = operation.Record{
			Key: r.Name.Key, Collection: r.Name.Key.Collection(), State: operation.Pending, CreatedAt: now,
		}
	}
	if !rec.Registered {
		// The submitter knows the full name; a delivery may have brought a bare id [K5], or an id that is nobody's.
		rec.Registered, rec.Name, rec.CorrelationID = true, r.Name.Resource, r.CorrelationID
	}
	if rec.JobKind == "" {
		rec.JobKind = r.JobKind
	}
	if rec.CorrelationID == "" {
		rec.CorrelationID = r.CorrelationID
	}
	if rec.SubmittedAt.IsZero() {
		if rec.SubmittedAt = operation.Instant(r.SubmittedAt); rec.SubmittedAt.IsZero() {
			rec.SubmittedAt = now
		}
	}
	if !rec.Settled() && rec.Abandoned == nil && rec.DueAt.IsZero() {
		rec.DueAt = rec.SubmittedAt.Add(l.settings.Grace)
	}
	var err error
	if rec.Metadata, err = rec.Metadata.Add(r.Metadata); err == nil && len(rec.Metadata) > MaxMetadataBytes {
		err = fmt.Errorf("%w: with what was registered before it has %d bytes, more than %d",
			operation.ErrMetadata, len(rec.Metadata), MaxMetadataBytes)
	}
	return rec, err
}

// MaxMetadataBytes bounds what an operation's registrations may add up to: it goes into every effect's payload.
const MaxMetadataBytes = 64 << 10

// A binding is what a registration's correlation id came to.
type binding struct {
	registration Registration // without the id where that is taken; with what the intent says of the job
	intent       Intent       // as it was, where it is bound now
	writes       []Write
	refused      error            // ErrCorrelation, where the id cannot be the operation's
	seen         *operation.Event // what deliveries under another name have said of the operation
	// disputed: deliveries carried the id and the name of another operation. Nothing that they said
	// is believed of this one, but that Gemini should be asked about it now.
	disputed bool
}

// bind ties the correlation id of r to its operation, unless one of the two is tied already; before
// is the operation's record. What deliveries said that carried the id, but a name that nobody
// registered and Gemini did not issue, belongs to the operation [K6, W5].
func (l *Ledger) bind(ctx context.Context, doc Document, before operation.Record, r Registration, now time.Time) (binding, error) {
	intent, err := readIntent(doc)
	if err != nil {
		return binding{}, err
	}
	b := binding{registration: r}
	switch {
	case intent.State == IntentBound && intent.Operation != r.Name.Key:
		b.refused = fmt.Errorf("%w: %q is the id of %s", ErrCorrelation, r.CorrelationID, intent.Operation)
	case before.Registered && before.CorrelationID != "" && before.CorrelationID != r.CorrelationID:
		b.refused = fmt.Errorf("%w: %s has the id %q", ErrCorrelation, r.Name.Key, before.CorrelationID)
	}
	switch {
	case b.refused != nil:
		b.registration.CorrelationID = ""
		return b, nil
	case intent.State == IntentBound:
		return b, nil
	case intent.State == IntentSeen && intent.Operation != r.Name.Key && intent.Operation.Issued():
		b.disputed = true
	case intent.State == IntentSeen && intent.Operation != r.Name.Key:
		if err := b.adoptSeen(ctx, l, r, intent.Operation, now); err != nil {
			return b, err
		}
	}
	if r.JobKind == "" {
		b.registration.JobKind = intent.JobKind
	}
	if r.Metadata == "" {
		b.registration.Metadata = intent.Metadata
	}
	b.intent = intent
	intent.CorrelationID = r.CorrelationID
	b.writes = append(b.writes, l.writeIntent(doc, intent.bound(r.Name.Key, cmp.Or(r.By, BySubmitter)), now))
	return b, nil
}

// heard returns rec with what deliveries under another name have said of the operation. Where they
// named another operation, that is nothing, and Gemini is asked at once.
func (b binding) heard(l *Ledger, rec operation.Record, now time.Time) operation.Record {
	if b.seen != nil && operation.Reduce(rec, *b.seen, l.settings.Transitions).Applied {
		rec = operation.Apply(rec, *b.seen, now)
	}
	if b.disputed && rec.DueAt.After(now) {
		rec.DueAt = operation.Instant(now)
	}
	return rec
}

// adoptSeen makes what deliveries under the name of other said an event of r's operation.
func (b *binding) adoptSeen(ctx context.Context, l *Ledger, r Registration, other operation.Key, now time.Time) error {
	snapshot, err := l.store.Get(ctx, OperationPath(other))
	if err != nil {
		return fmt.Errorf("reading what was said of correlation id %q: %w", r.CorrelationID, err)
	}
	doc := snapshot.Documents[0]
	rec, err := readRecord(doc)
	if err != nil || !doc.Exists() || rec.Registered {
		return err
	}
	b.seen = &operation.Event{
		Name: r.Name, Source: operation.Webhook, State: rec.State, UpdateTime: rec.UpdateTime, Result: rec.Result,
	}
	// Written, so that a delivery which is on its way to it loses the race and finds the operation instead.
	_, write := l.writeRecord(doc, rec, now)
	b.writes = append(b.writes, write)
	return nil
}
