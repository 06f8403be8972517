package simulation

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// TestSmallWorlds: whatever the order in which the calls of a small world arrive, and whichever
// process dies, no invariant is broken [S3, S4, S6, G5, G6, K6]. Each walk is complete: it has left
// every state by every way.
func TestSmallWorlds(t *testing.T) {
	t.Parallel()
	short := map[string]Small{
		"two workers, a crash":        OneEffect(2, 0, 1),
		"three workers, a crash":      OneEffect(3, 0, 1),
		"a worker, a replay, a crash": OneEffect(1, 1, 1),
	}
	night := map[string]Small{
		"a worker, two replays, a crash":                 OneEffect(1, 2, 1),
		"three workers, a replay, a crash":               OneEffect(3, 1, 1),
		"three workers, two replays, a crash":            OneEffect(3, 2, 1),
		"two workers, a crash, a lease runs out":         OneEffect(2, 0, 1, leaseOver),
		"an intent, two names, an event, a pass, expiry": TwoNames(),
	}
	long := map[string]Small{
		"three workers, a lease runs out": OneEffect(3, 0, 0, leaseOver),
	}
	for _, worlds := range harness.Soak(t, []map[string]Small{short}, []map[string]Small{short, night},
		[]map[string]Small{short, night, long}) {
		for name, small := range worlds {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				walked := Walk(t, small)
				if walked.Violation != "" {
					t.Fatalf("%s\n%s", walked.Violation, walked.Trace)
				}
				if !walked.Complete {
					t.Errorf("not every state was left by every way")
				}
				t.Log(walked)
			})
		}
	}
}

// TestWalkIsTheSame: a second walk finds the same states by the same schedules.
func TestWalkIsTheSame(t *testing.T) {
	t.Parallel()
	first, second := Walk(t, OneEffect(1, 1, 1)), Walk(t, OneEffect(1, 1, 1))
	if first != second || first.States < 100 {
		t.Errorf("first %v, then %v", first, second)
	}
}

// TestWalkFindsFlaws: each broken guard that a small world rests on breaks its own rule there, and the
// schedule that leads there is told. Deliveries are no part of these worlds: nothing is delivered
// twice. At night also the one that 4,332 schedules lead to; TestFlawsAreFound finds its flaw, too.
func TestWalkFindsFlaws(t *testing.T) {
	t.Parallel()
	type broken struct {
		small Small
		flaw  Flaw
	}
	worlds := map[string]broken{
		"one effect, no condition": {OneEffect(2, 0, 0), NoCondition},
		"one effect, no lease":     {OneEffect(2, 0, 0), NoLease},
		"one effect, no fence":     {OneEffect(1, 1, 0), NoFence},
		"one effect, no due-at":    {OneEffect(1, 1, 1), NoDueAt},
		"two names, no condition":  {TwoNames(), NoCondition},
	}
	if harness.Soak(t, false, true, true) {
		worlds["two names, a lost commit"] = broken{TwoNames(), NoEighthCommit}
	}
	for name, of := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			small := of.small
			small.Flaw = of.flaw
			walked := Walk(t, small)
			if walked.Violation == "" || !strings.Contains(walked.Trace, walked.Violation) {
				t.Errorf("not found: %v\n%s", walked, walked.Trace)
			}
			t.Logf("found in schedule %d: %s", walked.Schedules, walked.Violation)
		})
	}
}

// TestWalkStops: a walk that meets more states than its bound is not complete.
func TestWalkStops(t *testing.T) {
	t.Parallel()
	small := OneEffect(2, 0, 1)
	small.Most = 10
	if walked := Walk(t, small); walked.Complete || walked.States > small.Most+20 {
		t.Errorf("bounded by %d: %v", small.Most, walked)
	}
}
