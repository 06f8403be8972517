package effect

import (
	"context"
	"errors"
	"time"

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
)

// A Task is one attempt at one side effect.
type Task struct {
	ledger.Lease
	// Item is what the attempt is about where the effect runs once per item [K4]; nil where it runs once per operation.
	Item *results.Item
}

// A Handler performs a side effect.
//
// It returns nil only when the effect happened: that is final [S4]. It may return documents that are written in the same
// commit as the outcome, exactly once. An error releases the effect to be tried again after a back-off; wrapped by Permanent
// it ends the effect instead, wrapped by RetryAfter it says how long to wait at least. The context ends before the lease
// does; a handler that goes on after that may run beside its successor.
//
// A Handler must be safe for concurrent use and must not ask its target whether the effect already happened [S8].
type Handler interface {
	Perform(ctx context.Context, task Task) ([]ledger.Write, error)
}

// HandlerFunc makes a Handler of a function.
type HandlerFunc func(ctx context.Context, task Task) ([]ledger.Write, error)

// Perform calls f.
func (f HandlerFunc) Perform(ctx context.Context, task Task) ([]ledger.Write, error) {
	return f(ctx, task)
}

type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// Permanent marks an error as one that no further attempt mends: the effect is DEAD at once.
func Permanent(err error) error { return permanentError{err} }

// IsPermanent reports whether Permanent marked err or what it wraps.
func IsPermanent(err error) bool { return errors.As(err, new(permanentError)) }

type retryError struct {
	error
	after time.Duration
}

func (e retryError) Unwrap() error { return e.error }

// RetryAfter marks an error as one that passes, though not before d has.
func RetryAfter(err error, d time.Duration) error { return retryError{err, d} }

// retryAfter returns what RetryAfter said, or 0.
func retryAfter(err error) time.Duration {
	var retry retryError
	errors.As(err, &retry)
	return retry.after
}
