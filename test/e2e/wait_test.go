package e2e

import (
	"testing"
	"time"
)

// patience is how long a test waits for what other processes do. It takes moments on an idle
// machine; a busy one must not fail the test.
const patience = 5 * time.Minute

// until asks whether a condition holds that only other processes can make true, and reports whether
// it did before the limit. It asks at ever longer intervals: what comes soon is seen soon, and a
// long wait costs those processes little.
func until(limit time.Duration, condition func() bool) bool {
	const first, longest = 5 * time.Millisecond, 200 * time.Millisecond
	deadline := time.Now().Add(limit)
	for pause := first; !condition(); pause = min(pause+pause/4, longest) {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// eventually waits for a condition, or fails the test.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if !until(patience, condition) {
		t.Fatalf("not within %v: %s", patience, what)
	}
}

// within waits for a condition, or fails the test and logs what the processes said last.
func (f *fleet) within(limit time.Duration, what string, condition func() bool) {
	f.t.Helper()
	if until(limit, condition) {
		return
	}
	for _, i := range f.instances {
		f.t.Logf("%s: %s", i.process().id, i.process().tail())
	}
	f.t.Fatalf("not within %v: %s", limit, what)
}
