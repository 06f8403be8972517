package ledger

import (
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
}

// Registered says what Register did.
type Registered struct {
	Record  operation.Record // as it stands now
	Created bool             // whether the ledger did not know the operation before
	Planned int              // how many effects it planned, where the operation had already ended
	// PublishErr: as in Receipt.
	PublishErr error
}

// ErrCorrelation: the correlation id already stands for another operation.
var ErrCorrelation = errors.New("the correlation id belongs to another operation")

// Register makes the operation's record, the instant its name is known [L2], or adds to the one that is there: the job kind
// only where there is none, metadata only fields that are new. Where deliveries came first, what they said holds and its
// effects are planned in the same commit [W5].
//
// Registering the same again changes nothing and is safe to repeat; after a commit whose answer was lost it says that the
// operation is known. Errors: ErrCorrelation; else as Ingest.
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
	var writes []Write
	if r.CorrelationID != "" {
		if writes, err = l.bind(snapshot.Documents[1], r, now); err != nil {
			return Registered{}, nil, err
		}
	}
	rec, err := l.merge(before, r, now)
	if err != nil {
		return Registered{}, nil, err
	}
	existing, err := readEffects(snapshot.Documents[fixed:])
	if err != nil {
		return Registered{}, nil, err
	}
	planned, err := l.plan(rec, existing, now)
	if err != nil {
		return Registered{}, nil, err
	}
	if doc.Exists() && len(writes) == 0 && reflect.DeepEqual(planned.record, before) {
		return Registered{Record: before}, nil, nil
	}
	rec, write := l.writeRecord(doc, planned.record, now)
	if err := l.store.Commit(ctx, append(append(writes, planned.writes...), write)...); err != nil {
		return Registered{}, nil, err
	}
	return Registered{Record: rec, Created: !doc.Exists(), Planned: len(planned.messages)}, planned.messages, nil
}

// merge returns rec, which is the zero Record for an operation that the ledger does not know, with what r adds to it.
func (l *Ledger) merge(rec operation.Record, r Registration, now time.Time) (operation.Record, error) {
	if rec.Key == "" {
		rec = operation.Record{
			Key: r.Name.Key, Collection: r.Name.Key.Collection(), State: operation.Pending, CreatedAt: now,
		}
	}
	if !rec.Registered {
		// The submitter knows the full name; a delivery may have brought a bare id [K5].
		rec.Registered, rec.Name = true, r.Name.Resource
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
	if !rec.Settled() && rec.DueAt.IsZero() {
		rec.DueAt = rec.SubmittedAt.Add(l.settings.Grace)
	}
	var err error
	rec.Metadata, err = rec.Metadata.Add(r.Metadata)
	return rec, err
}

// bind ties the correlation id of r to its operation, unless it is tied already.
func (l *Ledger) bind(doc Document, r Registration, now time.Time) ([]Write, error) {
	var intent Intent
	if err := doc.Decode(&intent); err != nil {
		return nil, fmt.Errorf("reading %s: %w", doc.Path, err)
	}
	switch intent.Operation {
	case r.Name.Key:
		return nil, nil
	case "":
		return []Write{{Path: doc.Path, Token: doc.Token, Data: Intent{
			Schema: operation.SchemaVersion, CorrelationID: r.CorrelationID, State: IntentBound,
			Operation: r.Name.Key, CreatedAt: now, ExpireAt: now.Add(2 * l.settings.Retention),
		}}}, nil
	default:
		return nil, fmt.Errorf("%w: %q is that of %s", ErrCorrelation, r.CorrelationID, intent.Operation)
	}
}
