package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// An Intention is what a submitter is about to submit.
type Intention struct {
	operation.Submission // with a correlation id
	// Collection is where the operation will be; empty where that is not known. Only an intent of
	// operation.Batches can be decided without an operator after its submitter died.
	Collection operation.Collection
	// Attempt is an id that the submitter makes for one submission: with it, it may ask again where
	// the answer was lost. It asks no more once it has begun to submit. Empty: the ledger makes one.
	Attempt string
	// jobSubmitted, of a part of a job, is when that was submitted.
	jobSubmitted time.Time
}

// Validate returns every problem of the intention.
func (i Intention) Validate() operation.Problems {
	problems := i.Submission.Validate()
	problems.When(i.CorrelationID == "", "correlationId", "it is missing; an intent needs one that no other job has")
	problems.AddID("attempt", i.Attempt)
	if known := operation.Collections(); i.Collection != "" && !slices.Contains(known, i.Collection) {
		problems.Add("collection", "it must be %s, not %s%s",
			diag.OneOf(known), diag.Quote(string(i.Collection)), diag.DidYouMean(string(i.Collection), known))
	}
	return problems
}

// Intend records an intent before the submission, and decides what its submitter may do [G6]: see
// Verdict. It returns the intent as it is stored now. Of several submitters, at once or one after
// another, one may submit at a time. Where a delivery came with the id first, its operation is
// registered here, as by Register; the intent stays SEEN only where that operation was registered
// with another id.
//
// Calling it again with the same attempt is safe, until the operation is created. Errors:
// operation.ErrSubmission; otherwise as Ingest, and then nothing may be submitted.
func (l Intents) Intend(ctx context.Context, i Intention) (Intent, error) {
	if err := i.Validate().Err(); err != nil {
		return Intent{}, err
	}
	return l.intend(ctx, i)
}

// intend is Intend for any id.
func (l *protocol) intend(ctx context.Context, i Intention) (Intent, error) {
	var intent Intent
	var messages []Message
	nonce := l.nonce()
	i.Attempt = cmp.Or(i.Attempt, nonce)
	err := l.retry(ctx, fmt.Sprintf("recording the intent %q", i.CorrelationID), func(tries int) error {
		stored, doc, read, err := l.intent(ctx, i.CorrelationID)
		if err != nil {
			return err
		}
		if stored.State == IntentSeen {
			intent, messages, err = l.intendSeen(ctx, i, stored, tries > 0)
			return err
		}
		if doc.Exists() {
			recorded := stored.Writer == nonce && stored.Version == 1 // our own commit, whose answer was lost
			kept, err := i.kept(stored)
			if err != nil {
				return err
			}
			var write *Write
			intent, write = l.judge(i, stored, nonce, read)
			intent.Created, intent.Kept = recorded, kept
			if write == nil {
				return nil
			}
			return l.commit(ctx, *write)
		}
		var write Write
		intent, write = l.first(i, nonce, read)
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
func (l *protocol) intendSeen(ctx context.Context, i Intention, seen Intent, again bool) (Intent, []Message, error) {
	rec, _, _, err := l.record(ctx, seen.Operation)
	if err != nil {
		return Intent{}, nil, err
	}
	registered, messages, err := l.register(ctx, Registration{
		Name:       operation.Name{Key: seen.Operation, Resource: cmp.Or(rec.Name, string(seen.Operation))},
		Submission: i.Submission, SubmittedAt: seen.CreatedAt, By: seen.BoundBy,
	}, again)
	if err != nil {
		return Intent{}, nil, err
	}
	intent, _, _, err := l.intent(ctx, i.CorrelationID)
	intent.Withheld, intent.Verdict = registered.Withheld, MustWait
	if intent.State == IntentBound {
		intent.Verdict = IsBound
	}
	return intent, messages, err
}
