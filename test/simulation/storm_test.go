package simulation

import (
	"flag"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

var seedToRepeat = flag.Int64("seed", -1, "repeat the schedule of this seed, and print its trace")

// TestStorm runs the schedules of as many seeds as OPLEDGER_SOAK says, beginning with 0. A seed that
// breaks an invariant is shrunk, and printed with the command that repeats it.
func TestStorm(t *testing.T) {
	if *seedToRepeat >= 0 {
		r := Run(t, Random(uint64(*seedToRepeat)), Options{Trace: true})
		t.Logf("seed %d:\n%s", *seedToRepeat, r.Trace)
		for _, violation := range r.Violations {
			t.Error(violation)
		}
		return
	}
	schedules := harness.Soak(t, uint64(500), 20_000, 1_000_000)
	var next, steps atomic.Uint64
	t.Run("schedules", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for seed := next.Add(1) - 1; seed < schedules && !t.Failed(); seed = next.Add(1) - 1 {
					r := Run(t, Random(seed), Options{})
					steps.Add(uint64(r.Steps)) //nolint:gosec // it is positive
					if len(r.Violations) > 0 {
						report(t, seed, r)
					}
				}
			})
		}
	})
	t.Logf("%d schedules of %d steps", schedules, steps.Load())
}

// report fails the test with a schedule as a person can read it.
func report(t *testing.T, seed uint64, r Result) {
	t.Helper()
	t.Errorf("seed %d breaks an invariant: %s\nrepeat it: go test ./test/simulation -run TestStorm -v -seed %[1]d",
		seed, strings.Join(r.Violations, "\n"))
}

// TestOneSeedIsOneSchedule: the same seed leads to the same trace, byte for byte, however many
// processors there are; and so do the choices that it made.
func TestOneSeedIsOneSchedule(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for seed := range harness.Soak(t, uint64(30), 200, 2000) {
		runtime.GOMAXPROCS(1)
		first := Run(t, Random(seed), Options{Trace: true})
		for _, processors := range []int{2, 8} {
			runtime.GOMAXPROCS(processors)
			if again := Run(t, Random(seed), Options{Trace: true}); again.Trace != first.Trace {
				t.Fatalf("seed %d on %d processors:\n%s\nand on one:\n%s", seed, processors, again.Trace, first.Trace)
			}
		}
		if again := Run(t, Replay(first.Choices), Options{Trace: true}); again.Trace != first.Trace {
			t.Fatalf("seed %d replayed:\n%s\nand at first:\n%s", seed, again.Trace, first.Trace)
		}
	}
}
