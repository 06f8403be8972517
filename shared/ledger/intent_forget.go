package ledger

import (
	"context"
	"errors"
	"fmt"
)

// ErrIntentInUse: an operation has the intent's correlation id. Forget deletes both.
var ErrIntentInUse = errors.New("the intent belongs to an operation")

// CanForget returns ErrIntentInUse or ErrPart where Intents.Forget would. Other errors: the store's.
func (l Intents) CanForget(ctx context.Context, intent Intent) error {
	if err := l.unneeded(ctx, intent.CorrelationID, ErrPart); err != nil {
		return err
	}
	if intent.Operation == "" {
		return nil
	}
	rec, _, _, err := l.record(ctx, intent.Operation)
	if err == nil && rec.CorrelationID == intent.CorrelationID {
		err = fmt.Errorf("%w: %s", ErrIntentInUse, intent.Operation)
	}
	return err
}

// Forget deletes an intent, as Intent returned it, that no operation has: it was never bound,
// or its operation is gone. Like Forget it is for the erasure of personal data. A job that was
// submitted with the id and shows up afterwards is unregistered [W5].
//
// Errors: ErrIntentInUse; ErrPart, where a job needs it, and might send its requests twice without it;
// ErrConflict where the intent changed meanwhile; else as Ingest. Calling
// it again is safe.
func (l Intents) Forget(ctx context.Context, intent Intent) error {
	return l.retry(ctx, fmt.Sprintf("forgetting the intent %q", intent.CorrelationID), func(int) error {
		found, doc, _, err := l.intent(ctx, intent.CorrelationID)
		if err != nil || !found.CreatedAt.Equal(intent.CreatedAt) { // it is gone, perhaps by this call
			return err
		}
		if found.Version != intent.Version {
			return errChanged
		}
		if err := l.CanForget(ctx, intent); err != nil {
			return err
		}
		return l.commit(ctx, Write{Path: doc.Path, Token: doc.Token})
	})
}
