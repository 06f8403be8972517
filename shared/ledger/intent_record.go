package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// An Intention is what a submitter is about to submit.
type Intention struct {
	// CorrelationID is the submitter's own id of the job, unique to it, which it puts into the
	// job's user metadata [K6].
	CorrelationID string
	JobKind       string
	Metadata      operation.Metadata
	// Collection is where the operation will be; empty where that is not known. Only an intent of
	// operation.Batches can be decided without an operator after its submitter died.
	Collection operation.Collection
	// Attempt is an id that the submitter makes for one submission: with it, it may ask again where
	// the answer was lost. It asks no more once it has begun to submit. Empty: the ledger makes one.
	Attempt string
}

// ErrIntention is wrapped by every problem of an Intention. No retry of the same one helps.
var ErrIntention = errors.New("the intent cannot be recorded")

// MaxCorrelationBytes bounds a correlation id: a longer one is not recognized in events.
const MaxCorrelationBytes = 256

// Validate returns every problem of the intention, joined; nil if there is none. Each wraps
// ErrIntention, and operation.ErrMetadata where it is about the metadata.
func (i Intention) Validate() error {
	var problems []error
	add := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%w: "+format, append([]any{ErrIntention}, args...)...))
	}
	switch {
	case i.CorrelationID == "":
		add("its correlation id is missing; choose one that no other job has")
	case len(i.CorrelationID) > MaxCorrelationBytes:
		add("its correlation id has %d bytes, more than %d", len(i.CorrelationID), MaxCorrelationBytes)
	case operation.Garbled(i.CorrelationID):
		add("its correlation id %+q is not UTF-8, or has U+FFFD in place of what was not", i.CorrelationID)
	}
	if len(i.Attempt) > MaxCorrelationBytes || operation.Garbled(i.Attempt) {
		add("its attempt %+.100q is not UTF-8 of at most %d bytes", i.Attempt, MaxCorrelationBytes)
	}
	if !utf8.ValidString(i.JobKind) {
		add("its job kind %q is not UTF-8", i.JobKind)
	}
	if _, err := operation.ParseMetadata([]byte(i.Metadata)); err != nil {
		add("%w", err)
	} else if len(i.Metadata) > MaxMetadataBytes {
		add("%w: it has %d bytes, more than %d", operation.ErrMetadata, len(i.Metadata), MaxMetadataBytes)
	}
	if i.Collection != "" && !slices.Contains(operation.Collections(), i.Collection) {
		add("%q is not a collection; it must be %s", i.Collection, diag.OneOf(operation.Collections()))
	}
	return errors.Join(problems...)
}

// Intend records an intent before the submission, and decides what its submitter may do [G6]: see
// Verdict. It returns the intent as it is stored now. Of several submitters, at once or one after
// another, one may submit at a time. Where a delivery came with the id first, its operation is
// registered here, as by Register; the intent stays SEEN only where that operation was registered
// with another id.
//
// Calling it again with the same attempt is safe, until the operation is created. Errors:
// ErrIntention; otherwise as Ingest, and then nothing may be submitted.
func (l *Ledger) Intend(ctx context.Context, i Intention) (Intent, error) {
	if err := i.Validate(); err != nil {
		return Intent{}, err
	}
	var intent Intent
	var messages []Message
	nonce := l.nonce()
	i.Attempt = cmp.Or(i.Attempt, nonce)
	err := l.decide(ctx, fmt.Sprintf("recording the intent %q", i.CorrelationID), func(tries int) error {
		snapshot, err := l.store.Get(ctx, intentPath(i.CorrelationID))
		if err != nil {
			return err
		}
		doc := snapshot.Documents[0]
		if intent, err = readIntent(doc); err != nil {
			return err
		}
		if intent.State == IntentSeen {
			intent, messages, err = l.intendSeen(ctx, i, intent, tries > 0)
			return err
		}
		if doc.Exists() {
			recorded := intent.Writer == nonce && intent.Version == 1 // our own commit, whose answer was lost
			kept, err := i.kept(intent)
			if err != nil {
				return err
			}
			var write *Write
			intent, write = l.judge(i, intent, nonce, snapshot)
			intent.Created, intent.Kept = recorded, kept
			if write == nil {
				return nil
			}
			return l.commit(ctx, *write)
		}
		write := l.writeIntent(doc, Intent{
			CorrelationID: i.CorrelationID, State: IntentOpen, Writer: nonce, CreatedAt: operation.Instant(snapshot.ReadTime),
			JobKind: i.JobKind, Metadata: i.Metadata, Collection: i.Collection,
		}.announced(i.Attempt), snapshot.ReadTime)
		intent = write.Data.(Intent)
		intent.Created, intent.Verdict = true, MaySubmit
		return l.commit(ctx, write)
	})
	if err != nil {
		return Intent{}, err
	}
	_ = l.send(ctx, messages) // what is not published now waits for the sweep
	return intent, nil
}

// intendSeen registers the operation of a delivery that came with the intention's id: the job was
// submitted before the intent was recorded.
func (l *Ledger) intendSeen(ctx context.Context, i Intention, seen Intent, again bool) (Intent, []Message, error) {
	snapshot, err := l.store.Get(ctx, OperationPath(seen.Operation))
	if err != nil {
		return Intent{}, nil, err
	}
	rec, err := l.readRecord(snapshot.Documents[0])
	if err != nil {
		return Intent{}, nil, err
	}
	registered, messages, err := l.register(ctx, Registration{
		Name:    operation.Name{Key: seen.Operation, Resource: cmp.Or(rec.Name, string(seen.Operation))},
		JobKind: i.JobKind, Metadata: i.Metadata, SubmittedAt: seen.CreatedAt, CorrelationID: i.CorrelationID,
		By: seen.BoundBy,
	}, again)
	if err != nil {
		return Intent{}, nil, err
	}
	_, intent, err := l.intent(ctx, i.CorrelationID)
	intent.Withheld, intent.Verdict = registered.Withheld, MustWait
	if intent.State == IntentBound {
		intent.Verdict = IsBound
	}
	return intent, messages, err
}
