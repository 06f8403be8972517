// Package soak says how much those tests do that prove something by doing it often: how many kills, operations, items or
// inputs. One variable, OPLEDGER_SOAK, chooses for all of them:
//
//	short  a check before a commit: every moment, point and kind once; the default
//	gate   what .ci/run does: enough that a race which is lost once in some hundred times shows
//	long   what an operator or a release asks for: ten times as much, an hour or more
//
// No level leaves a test out, and no level changes what a test asserts.
package soak

import (
	"os"
	"testing"
)

// Variable is the environment variable that chooses the level.
const Variable = "OPLEDGER_SOAK"

// Of returns the count of the level that is chosen. The test fails where the variable names no level.
func Of[T any](t testing.TB, short, gate, long T) T {
	t.Helper()
	switch level := os.Getenv(Variable); level {
	case "", "short":
		return short
	case "gate":
		return gate
	case "long":
		return long
	default:
		t.Fatalf("%s is %q; it must be short, gate or long", Variable, level)
		return short
	}
}
