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

// classify wraps an error of a read in the ledger's error for it.
func classify(ctx context.Context, doing string, err error) error {
	switch {
	case ctx.Err() != nil: // the caller's context ended: Firestore's error adds nothing
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	case errors.Is(err, context.DeadlineExceeded): // of this store or the client, not the caller's
		return fmt.Errorf("%s: %w: no answer in time", doing, ledger.ErrUnavailable)
	case status.Code(err) == codes.InvalidArgument:
		return fmt.Errorf("%s: %w: %w", doing, ledger.ErrInvalid, err)
	default:
		return fmt.Errorf("%s: %w: %w", doing, ledger.ErrUnavailable, err)
	}
}

// classifyCommit wraps an error of a commit, which the client sent a number of times, in the
// ledger's error for it.
func classifyCommit(ctx context.Context, err error, sent int) error {
	const doing = "committing"
	switch status.Code(err) {
	case codes.AlreadyExists, // Create
		codes.FailedPrecondition, codes.NotFound, // LastUpdateTime
		codes.Aborted: // another commit held a lock; nothing was written
		if sent > 1 {
			return fmt.Errorf("%s: %w: it was repeated, perhaps after it was made and the answer lost: %w",
				doing, ledger.ErrUnavailable, err)
		}
		return fmt.Errorf("%s: %w: %w", doing, ledger.ErrConflict, err)
	case codes.InvalidArgument:
		switch {
		case messageOf(err) == tooBig:
			return fmt.Errorf("%s: %w: %w", doing, ledger.ErrTooBig, err)
		case aboutTransaction(err):
			return fmt.Errorf("%s: %w: %w", doing, ledger.ErrUnavailable, err)
		}
	}
	if sent == 0 && unencodable(err) {
		return fmt.Errorf("%s: %w: %w", doing, ledger.ErrInvalid, err)
	}
	return classify(ctx, doing, err)
}

// unencodable reports whether an error of a commit that was not sent is about a value that Firestore
// has no type for. Every other one is the context's or has a gRPC status.
func unencodable(err error) bool {
	_, hasStatus := status.FromError(err)
	return !hasStatus && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// tooBig is Firestore's whole message about a commit of more than 10 MiB, index entries included,
// of which it makes a transaction. Only this exact text proves that nothing was written.
const tooBig = "Transaction too big. Decrease transaction size."

// messageOf returns the server's message, without the client's additions.
func messageOf(err error) string {
	var said interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &said) {
		return ""
	}
	return said.GRPCStatus().Message()
}

// aboutTransaction tells an error about the transaction that Firestore makes of a commit from one
// about its writes. Both have the code INVALID_ARGUMENT, and only the text differs: "The referenced
// transaction has expired or is no longer valid." The match is generous: mistaking an open commit
// for a refused one loses an event, the reverse only costs another read. Quoted parts are ignored,
// because they may hold a user's text. A commit that is too big is recognized before.
func aboutTransaction(err error) bool {
	for i, part := range strings.Split(status.Convert(err).Message(), `"`) {
		if i%2 == 0 && strings.Contains(strings.ToLower(part), "transaction") {
			return true
		}
	}
	return false
}
