package effect

import (
	"context"
	"errors"
)

// A process that is told to stop ends its work in two steps. At once it begins nothing more, see
// WithStop. What is in progress goes on until its context ends with ErrStopped.

// ErrStopped is the cause, see context.Cause, of a context that ends because its process is told to
// stop. An attempt that it interrupts has not failed: the effect is given back without counting the
// attempt, and any other process may claim it at once. It may have happened.
var ErrStopped = errors.New("the process was told to stop")

type stopKey struct{}

// WithStop returns a context in which no attempt and no item is begun once told has ended. An
// attempt at items in progress records those that it performed and gives the rest back, as at
// ErrStopped.
func WithStop(ctx, told context.Context) context.Context {
	return context.WithValue(ctx, stopKey{}, told)
}

// Stopping returns the context that ends when nothing more may be begun in ctx; one that never ends
// where WithStop gave none.
func Stopping(ctx context.Context) context.Context {
	if told, ok := ctx.Value(stopKey{}).(context.Context); ok {
		return told
	}
	return context.Background()
}
