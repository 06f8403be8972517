// Package guarded has guards of every kind, for the tests of mutation.
package guarded

import (
	"errors"
	"time"
)

const inAConstant = 1 < 2 // cannot be mutated

// Divide has a guard that a test proves, and a boundary that none does.
func Divide(a, b int) (int, error) {
	if b == 0 {
		return 0, errors.New("division by zero")
	}
	if a > 1000 {
		return 0, errors.New("too large")
	}
	return a / b, nil
}

// Late compares two instants.
func Late(at, limit time.Time, closed bool) bool {
	switch {
	case closed && inAConstant:
		return true
	}
	return at.After(limit)
}
