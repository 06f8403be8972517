package ledger

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Registration states that an operation was submitted.
type Registration struct {
	Name operation.Name
	operation.Submission
	SubmittedAt time.Time // zero or 1970: now
	// By is the BoundBy of the intent; empty: BySubmitter.
	By operation.Source
}

// Registered is the result of Register.
type Registered struct {
	Record  operation.Record // as it is now
	Created bool             // whether the operation was unknown before
	// FromEvent: the operation was known from an event alone, and this call registered it. After a commit whose answer
	// was lost it is false.
	FromEvent bool
	Planned   int // how many effects were planned, where the operation had ended already
	// Withheld: as in Receipt.
	Withheld int
	// Merged names what the registration added to an operation that was registered before, and what
	// was kept; a correlation id that was refused is kept. After a commit whose answer was lost
	// Added is empty.
	Merged
	// CorrelationErr is ErrCorrelation where the correlation id belongs to another operation, or
	// the operation has another id. It is registered all the same, without the id.
	CorrelationErr error
	// PublishErr: as in Receipt.
	PublishErr error
}

// ErrCorrelation: the correlation id and the operation do not belong together, because one of them
// is bound already. One id is one operation.
var ErrCorrelation = errors.New("the correlation id and the operation do not belong together")

// Register creates the operation's record as soon as its name is known [L2], or adds the missing
// fields to an existing one, and those of its metadata. Where deliveries came first, their state
// stands, and its effects are planned in the same commit [W5]. That commit also binds an intent
// that waits under the correlation id, whose submission completes the registration [G6].
//
// Registering the same again changes nothing and is safe; after a commit whose answer was lost the
// operation counts as known. Effects are planned when an operation is first registered, or first
// has a job kind: a rule that is added later plans nothing for earlier operations. Errors:
// operation.ErrSubmission; otherwise as Ingest.
func (l Operations) Register(ctx context.Context, r Registration) (Registered, error) {
	if err := r.Submission.Validate().Err(); err != nil {
		return Registered{}, err
	}
	if operation.Reserved(string(r.Name.Key)) {
		return Registered{}, operation.FieldError{Field: "name", Err: operation.ErrReserved}
	}
	return l.registerAny(ctx, r)
}

// registerAny is Register for any name and id.
func (l *protocol) registerAny(ctx context.Context, r Registration) (Registered, error) {
	var result Registered
	var messages []Message
	err := l.retry(ctx, "registering "+string(r.Name.Key), func(tries int) (err error) {
		result, messages, err = l.register(ctx, r, tries > 0)
		return err
	})
	if err != nil {
		return Registered{}, err
	}
	result.PublishErr = l.send(ctx, messages)
	return result, nil
}

func (l *protocol) register(ctx context.Context, r Registration, again bool) (Registered, []Message, error) {
	paths := []Path{OperationPath(r.Name.Key)}
	if r.CorrelationID != "" {
		paths = append(paths, intentPath(r.CorrelationID))
	}
	fixed := len(paths)
	if again {
		// The race may have been lost to an effect document that exists already.
		paths = append(paths, l.effectPaths(r.Name.Key)...)
	}
	snapshot, err := l.store.Get(ctx, paths...)
	if err != nil {
		return Registered{}, nil, err
	}
	doc, now := snapshot.Documents[0], snapshot.ReadTime
	before, err := l.readRecord(doc)
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
	if bound.refused != nil && operation.Reserved(said.CorrelationID) {
		return Registered{Record: before, CorrelationErr: bound.refused}, nil, nil // a twin runs no effect [J2]
	}
	rec, err := l.merge(before, r, now)
	if err != nil {
		return Registered{}, nil, err
	}
	merged, err := said.mergedInto(before, bound.refused != nil)
	if err != nil {
		return Registered{}, nil, err
	}
	planned := plan{record: bound.withReports(l, rec, now)}
	if rec = planned.record; !before.Registered || before.JobKind != rec.JobKind || before.State != rec.State {
		existing, err := readEffects(snapshot.Documents[fixed:])
		if err != nil {
			return Registered{}, nil, err
		}
		if planned, err = l.plan(ctx, before, rec, existing, bound.intent, now); err != nil {
			return Registered{}, nil, err
		}
	}
	writes := bound.writes
	if doc.Exists() && len(writes) == 0 && reflect.DeepEqual(planned.record, before) {
		return Registered{Record: before, Merged: merged, CorrelationErr: bound.refused}, nil, nil
	}
	rec, write := l.writeRecord(doc, planned.record, now)
	if err := l.commit(ctx, append(append(writes, planned.writes...), write)...); err != nil {
		return Registered{}, nil, err
	}
	return Registered{
		Record: rec, Created: !doc.Exists(), FromEvent: doc.Exists() && !before.Registered,
		Planned: len(planned.messages), Withheld: planned.withheld, Merged: merged, CorrelationErr: bound.refused,
	}, planned.messages, nil
}

// merge returns rec with what r adds to it. rec is the zero Record for an unknown operation.
func (l *protocol) merge(rec operation.Record, r Registration, now time.Time) (operation.Record, error) {
	if rec.Key == "" {
		rec = operation.Record{
			Key: r.Name.Key, Collection: r.Name.Key.Collection(), State: operation.Pending, CreatedAt: now,
			Incarnation: l.nonce(),
		}
	}
	if !rec.Registered {
		// The submitter knows the full name; a delivery may have had a bare id [K5], or an unknown
		// correlation id.
		rec.Registered, rec.Name, rec.CorrelationID = true, r.Name.Resource, r.CorrelationID
	}
	metadata, err := rec.Metadata.Add(r.Metadata)
	if err == nil && len(metadata) > operation.MaxMetadataBytes {
		err = operation.FieldError{Field: "metadata", Err: fmt.Errorf(
			"with what was registered before it has %d bytes, more than %d", len(metadata), operation.MaxMetadataBytes)}
	}
	rec.Submission = rec.Submission.Fill(r.Submission)
	rec.Metadata = metadata
	if rec.SubmittedAt.IsZero() {
		if rec.SubmittedAt = operation.Instant(r.SubmittedAt); operation.Missing(rec.SubmittedAt) {
			rec.SubmittedAt = now
		}
	}
	if !rec.Settled() && rec.Abandoned == nil && rec.DueAt.IsZero() {
		rec.DueAt = dueFrom(rec.Submitted().Add(l.settings.Grace), now)
	}
	return rec, err
}
