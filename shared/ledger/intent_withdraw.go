package ledger

import (
	"context"
	"fmt"

	"github.com/opledger/opledger/shared/operation"
)

// Withdraw deletes an OPEN or ABANDONED intent, for the submitter of its attempt, which knows that
// Gemini accepted nothing. The operation is no longer searched for, and the id is free at once
// [G6]. It reports whether the intent is gone. False: it is SEEN or BOUND, so an operation has its
// id, or another attempt was announced meanwhile, and it stays.
//
// An operation that shows up with the id afterwards is unregistered [W5]. Calling it again is safe.
// Errors: operation.ErrSubmission, for an id of a job's; else as Ingest.
func (l Intents) Withdraw(ctx context.Context, correlationID, attempt string) (bool, error) {
	if operation.Reserved(correlationID) {
		return false, operation.FieldError{Field: "correlationId", Err: operation.ErrReserved}
	}
	return l.withdraw(ctx, correlationID, attempt)
}

// withdraw is Withdraw for any id.
func (l *protocol) withdraw(ctx context.Context, correlationID, attempt string) (bool, error) {
	withdrawn := false
	err := l.retry(ctx, fmt.Sprintf("withdrawing the intent %q", correlationID), func(int) error {
		intent, doc, _, err := l.intent(ctx, correlationID)
		if err != nil {
			return err
		}
		withdrawn = !doc.Exists()
		if withdrawn || !intent.Waiting() || attempt == "" || intent.attempt().ID != attempt {
			return nil
		}
		if err := l.commit(ctx, Write{Path: doc.Path, Token: doc.Token}); err != nil {
			return err
		}
		withdrawn = true
		return nil
	})
	return withdrawn && err == nil, err
}
