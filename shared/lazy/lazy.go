// Package lazy makes a value, such as a client, when it is first needed.
package lazy

import (
	"context"
	"sync"
)

// A Value is made by the first Get. It is safe for concurrent use: others wait for the one who makes it.
type Value[T any] struct {
	mu     sync.Mutex
	made   bool
	value  T
	closed error // why there is none any more
}

// Get returns the value, and makes it if there is none. After an error the next Get tries again.
func (v *Value[T]) Get(ctx context.Context, make func(context.Context) (T, error)) (T, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.made || v.closed != nil {
		return v.value, v.closed
	}
	value, err := make(ctx)
	if err == nil {
		v.value, v.made = value, true
	}
	return value, err
}

// Close closes the value, if it was made. Every Get from then on returns why there is none.
func (v *Value[T]) Close(why error, end func(T) error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	last, made := v.value, v.made
	v.value, v.made, v.closed = *new(T), false, why
	if !made {
		return nil
	}
	return end(last)
}
