package harness

import (
	"os"
	"testing"
)

// envSoak is the environment variable that says how often the tests repeat what only repetition
// proves: kills, operations, items, inputs.
const envSoak = "OPLEDGER_SOAK"

// Soak returns the count of the level that OPLEDGER_SOAK names:
//
//	short  the default, also of .ci/run: a sample of the moments, points, kinds and inputs
//	night  what .ci/night sets: often enough to show a race that is lost once in some hundred times
//	long   what an operator sets before a release: ten times as often, an hour or more
//
// No level leaves a test out, but for what [ThoroughOnly] names. A lower one may leave out a case that takes long, or
// run each test with one of the cases with which a higher one runs them all. What a test asserts stays the same, but
// for how much it must have seen. Any other value fails the test.
func Soak[T any](t testing.TB, short, night, long T) T {
	t.Helper()
	switch level := os.Getenv(envSoak); level {
	case "", "short":
		return short
	case "night":
		return night
	case "long":
		return long
	default:
		t.Fatalf("%s is %q; it must be short, night or long", envSoak, level)
		return short
	}
}

// Thorough reports whether a test may take longer than `go test ./...` has time for: in the gate, which requires the
// emulators, and at every level above short.
func Thorough(t testing.TB) bool {
	t.Helper()
	return os.Getenv(envRequire) == "1" || Soak(t, false, true, true)
}

// ThoroughOnly skips the test, and says what is left out, where it is not [Thorough]: never in the gate.
func ThoroughOnly(t testing.TB, what string) {
	t.Helper()
	if !Thorough(t) {
		t.Skipf("a short run leaves out %s: set %s=1, as .ci/run does", what, envRequire)
	}
}
