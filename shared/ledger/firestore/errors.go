package firestore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/opledger/opledger/shared/ledger"
)

// classify wraps an error of a read in the one of the ledger's that says what to do about it.
func classify(ctx context.Context, doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ledger.ErrInvalid):
		return fmt.Errorf("%s: %w", doing, err)
	case ctx.Err() != nil: // the caller gave up: what Firestore says of that adds nothing
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	case errors.Is(err, context.DeadlineExceeded): // of this store or the client, not the caller's
		return fmt.Errorf("%s: %w: no answer in time", doing, ledger.ErrUnavailable)
	case status.Code(err) == codes.InvalidArgument:
		return fmt.Errorf("%s: %w: %w", doing, ledger.ErrInvalid, err)
	default:
		return fmt.Errorf("%s: %w: %w", doing, ledger.ErrUnavailable, err)
	}
}

// classifyCommit does the same for an error of a commit.
func classifyCommit(ctx context.Context, doing string, err error) error {
	switch status.Code(err) {
	case codes.AlreadyExists, // Create
		codes.FailedPrecondition, codes.NotFound, // LastUpdateTime
		codes.Aborted: // somebody else's transaction had a lock; certainly nothing was written
		return fmt.Errorf("%s: %w: %w", doing, ledger.ErrConflict, err)
	case codes.InvalidArgument:
		switch {
		case messageOf(err) == tooBig:
			return fmt.Errorf("%s: %w: %w", doing, ledger.ErrTooBig, err)
		case transactionOver(err):
			return fmt.Errorf("%s: %w: its transaction is over, perhaps because it was committed and the answer lost: %w",
				doing, ledger.ErrUnavailable, err)
		}
	}
	return classify(ctx, doing, err)
}

// tooBig is all that Firestore says of a transaction that writes more than 10 MiB, index entries included. The code is
// INVALID_ARGUMENT, as it is for a transaction that is over. Only exactly this text says that nothing was written.
const tooBig = "Transaction too big. Decrease transaction size."

// messageOf returns what the server said, without what the client put around it.
func messageOf(err error) string {
	var said interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &said) {
		return ""
	}
	return said.GRPCStatus().Message()
}

// transactionOver tells an error about the transaction itself from one about what it writes; both have the code
// INVALID_ARGUMENT, and only the text differs: "The referenced transaction has expired or is no longer valid." in production,
// "Transaction is invalid or closed." on the emulator. Google's clients for Node.js and Java go by the text, too. It is read
// generously, since a commit that is wrongly taken for refused loses an event, and one that is wrongly taken for open is
// looked at again. What is in quotes was somebody else's to choose. A text about a transaction that is too big is told apart
// before.
func transactionOver(err error) bool {
	for i, part := range strings.Split(status.Convert(err).Message(), `"`) {
		if i%2 == 0 && strings.Contains(strings.ToLower(part), "transaction") {
			return true
		}
	}
	return false
}
