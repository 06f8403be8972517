package effect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A Task is one attempt at one side effect.
type Task struct {
	ledger.Lease
	// Item is the item of an effect that runs once per item [K4]; nil for one that runs once per
	// operation.
	Item *results.Item
}

// TraceParent returns the trace context for what the attempt sends: a span of its own in the trace in which the
// operation was submitted; empty where there was none.
func (t Task) TraceParent() operation.TraceParent { return t.Trace.Child(t.IdempotencyKey, t.Fence) }

// A Handler performs a side effect.
//
// It returns nil only when the effect happened: that is final [S4]. It may return documents that
// are written in the same commit as the outcome, exactly once. An error releases the effect for
// another attempt after a back-off. An error of Permanent ends the effect instead; one of
// RetryAfter gives the least back-off. The context ends before the lease does. A handler that goes
// on after that may run beside its successor.
//
// A Handler must be safe for concurrent use, and must not query its target whether the effect
// already happened [S8].
type Handler interface {
	Perform(ctx context.Context, task Task) ([]ledger.Write, error)
}

// A Follower is a Handler that acts once its effect is DONE. What Follow does must come to pass without it,
// too, because the process may die first. Its error is in the Report, and changes nothing else.
type Follower interface {
	Handler
	Follow(ctx context.Context, lease ledger.Lease) error
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, task Task) ([]ledger.Write, error)

// Perform calls f.
func (f HandlerFunc) Perform(ctx context.Context, task Task) ([]ledger.Write, error) {
	return f(ctx, task)
}

type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// Permanent marks an error that no further attempt can avoid: the effect is DEAD at once.
func Permanent(err error) error { return permanentError{err} }

// IsPermanent reports whether Permanent marked err or what it wraps.
func IsPermanent(err error) bool { return errors.As(err, new(permanentError)) }

type retryError struct {
	error
	after time.Duration
}

func (e retryError) Unwrap() error { return e.error }

// RetryAfter marks an error after which no attempt is made before d has passed.
func RetryAfter(err error, d time.Duration) error { return retryError{err, d} }

// ErrContinue ends an attempt whose time was over, and which did not fail: the rest of the effect is
// handed on.
var ErrContinue = errors.New("the attempt's time is over; the next attempt continues with the remaining items")

type postponedError struct {
	error
	after time.Duration
}

func (e postponedError) Unwrap() error { return e.error }

// Postpone marks the reason why an effect cannot be run now, although nothing failed. The attempt is not
// counted, and the next is made once after has passed.
func Postpone(reason error, after time.Duration) error { return postponedError{reason, after} }

type answeredError struct {
	error
	status int
}

func (e answeredError) Unwrap() error { return e.error }

// HTTPStatus is the status that [Answered] was given.
func (e answeredError) HTTPStatus() int { return e.status }

// Answered marks an error that is about an answer with an HTTP status. The history of the effect
// keeps the status. It changes nothing else.
func Answered(err error, status int) error { return answeredError{err, status} }

// MaxRetryAfter bounds the delay that a receiver can ask for.
const MaxRetryAfter = time.Hour

// RetryDelay returns the duration of RetryAfter, or 0.
func RetryDelay(err error) time.Duration {
	retry, _ := errors.AsType[retryError](err)
	return retry.after
}

// Bounded returns the value, or a hash of one that is longer than the 1,024 bytes that receivers
// accept as an attribute. The payload has it whole.
func Bounded(value string) string {
	const most = 1024
	if len(value) <= most {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return "sha256:" + hex.EncodeToString(sum[:])
}
