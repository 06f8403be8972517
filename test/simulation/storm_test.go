package simulation

import (
	"cmp"
	"flag"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	// What Go prints of a goroutine that breaks off has its labels, see Run.
	if err := os.Setenv("GODEBUG", os.Getenv("GODEBUG")+",tracebacklabels=1"); err != nil {
		panic(err)
	}
	harness.SpendMemory() // a schedule throws much away: collecting that took a quarter of the time
	goleak.VerifyTestMain(m)
}

var (
	from    = flag.Uint64("from", 0, "the seed of the first schedule")
	number  = flag.Uint64("schedules", 0, "so many schedules, instead of as many as OPLEDGER_SOAK says")
	seed    = flag.Int64("seed", -1, "repeat the schedule of this seed alone, and print its trace with -v")
	choices = flag.String("choices", "", "repeat the schedule of these choices, such as 0,2,0,1, instead")
)

// schedulesOf returns how many schedules run: outside of the gate fewer than at the level short.
func schedulesOf(t *testing.T, few, short, night, long uint64) uint64 {
	t.Helper()
	if !harness.Thorough(t) {
		return few
	}
	return harness.Soak(t, short, night, long)
}

// TestStorm runs the schedules of as many seeds as OPLEDGER_SOAK says. A seed that breaks an invariant
// is shrunk, and printed with the command that repeats it.
func TestStorm(t *testing.T) {
	storm(t, Options{}, schedulesOf(t, 200, 500, 20_000, 1_000_000), outcomesOfStorm)
}

// storm runs so many schedules, which must meet certain outcomes, or repeats one.
func storm(t *testing.T, o Options, schedules uint64, outcomes []string) {
	t.Helper()
	if chooser := chosen(t); chooser != nil {
		o.Trace = true
		r := Run(t, chooser, o)
		t.Logf("\n%s", r.Trace)
		for _, violation := range r.Violations {
			t.Error(violation)
		}
		return
	}
	schedules = cmp.Or(*number, schedules)
	var next, steps atomic.Uint64
	var mu sync.Mutex
	met := Met{}
	t.Run("schedules", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for i := next.Add(1) - 1; i < schedules && !t.Failed(); i = next.Add(1) - 1 {
					r := Run(t, Random(*from+i), o)
					steps.Add(uint64(r.Steps)) //nolint:gosec // it is positive
					mu.Lock()
					for what, times := range r.Met {
						met[what] += times
					}
					mu.Unlock()
					if len(r.Violations) > 0 {
						report(t, o, *from+i, r)
					}
				}
			})
		}
	})
	t.Logf("%d schedules of %d steps met %v", min(next.Load(), schedules), steps.Load(), met)
	if *from == 0 && *number == 0 && !t.Failed() { // the same at every run
		met.missed(t, outcomes)
	}
}

// outcomesOfStorm is what the schedules of TestStorm must meet.
var outcomesOfStorm = append(fatesOf(works, hours),
	metDead, metReopened, metRevived, metSeized, metRepeated, metMissing, metStuck, metLeapt,
	metItemRepeated, metItemFailed, metRecordExpired, metEffectExpired, metWithheld)

// fatesOf returns the names of the fates from the first to the last.
func fatesOf(first, last fate) []string { return slices.Clone(fateNames[first : last+1]) }

// missed fails the test where the schedules met too little to be worth their time.
func (m Met) missed(t *testing.T, outcomes []string) {
	t.Helper()
	for _, what := range outcomes {
		if m[what] == 0 {
			t.Errorf("no schedule met: %s", what)
		}
	}
}

// chosen returns the chooser of the flags; nil where they name none.
func chosen(t *testing.T) Chooser {
	t.Helper()
	if *choices == "" && *seed < 0 {
		return nil
	}
	if *choices == "" {
		return Random(uint64(*seed))
	}
	var made []int
	for text := range strings.SplitSeq(*choices, ",") {
		choice, err := strconv.Atoi(text)
		if err != nil || choice < 0 {
			t.Fatalf("-choices has %q; it must be numbers such as 0,2,0,1", text)
		}
		made = append(made, choice)
	}
	return Replay(made)
}

// triesOf returns how often a shrink may try, as schedulesOf does.
func triesOf(t *testing.T, few, short, night int) int {
	t.Helper()
	if !harness.Thorough(t) {
		return few
	}
	return harness.Soak(t, short, night, manyTries)
}

// manyTries let [least] find nearly all that can go.
const manyTries = 3000

// least shrinks a schedule in so many tries, as long as it breaks one of the rules. It returns the
// choices that are left.
func least(t *testing.T, r Result, o Options, rules []string, tries int) []int {
	t.Helper()
	o.Until = rules
	return Shrink(r.Choices, tries, func(choices []int) bool {
		return breaks(Run(t, Replay(choices), o).Violations, rules) != ""
	})
}

// report fails the test with a schedule as a person can read it.
func report(t *testing.T, o Options, seed uint64, r Result) {
	t.Helper()
	left := least(t, r, o, rulesOf(r.Violations[0]), manyTries)
	traced := o
	traced.Trace = true
	shrunk := Run(t, Replay(left), traced)
	t.Errorf("seed %d: %s\n\nShrunk to:\n%s\nrepeat it:    %s\nor as shrunk: %s",
		seed, strings.Join(r.Violations, "\n"), shrunk.Trace, o.command(Random(seed)), o.command(Replay(left)))
}

// TestOneSeedIsOneSchedule: the same seed leads to the same trace, byte for byte, however many
// processors there are; and so do the choices that it made.
func TestOneSeedIsOneSchedule(t *testing.T) {
	oneSchedule(t, Options{}, schedulesOf(t, 6, 15, 200, 2000))
}

// oneSchedule compares the traces of so many seeds.
func oneSchedule(t *testing.T, o Options, seeds uint64) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	o.Trace = true
	for seed := range seeds {
		runtime.GOMAXPROCS(1)
		first := Run(t, Random(seed), o)
		for _, processors := range []int{2, 8} {
			runtime.GOMAXPROCS(processors)
			if again := Run(t, Random(seed), o); again.Trace != first.Trace {
				t.Fatalf("seed %d on %d processors:\n%s\nand on one:\n%s", seed, processors, again.Trace, first.Trace)
			}
		}
		if again := Run(t, Replay(first.Choices), o); again.Trace != first.Trace {
			t.Fatalf("seed %d replayed:\n%s\nand at first:\n%s", seed, again.Trace, first.Trace)
		}
	}
}

// TestFlawsAreFound: each broken guard breaks a rule of its own in one of few schedules, and what is
// left after shrinking still does.
func TestFlawsAreFound(t *testing.T) {
	t.Parallel()
	for _, flaw := range Flaws() {
		t.Run(flaw.String(), func(t *testing.T) {
			t.Parallel()
			found(t, Options{Flaw: flaw}, 0, 200, triesOf(t, 5, 15, manyTries))
		})
	}
}

// found fails the test where none of so many schedules, from the first seed, breaks a rule of the flaw. It shrinks in
// so many tries.
func found(t *testing.T, o Options, first, most uint64, tries int) {
	t.Helper()
	rules := o.Flaw.Rules()
	o.Until = rules // the rest of a world with a flaw says no more, and may be without an end
	for seed := range most {
		seed += *from + first
		r := Run(t, Random(seed), o)
		found := breaks(r.Violations, rules)
		if found == "" {
			continue
		}
		left := least(t, r, o, rules, tries)
		if breaks(Run(t, Replay(left), o).Violations, rules) == "" {
			t.Errorf("what seed %d shrinks to, %v, breaks none of %v", seed, left, rules)
		}
		t.Logf("found by seed %d: %s; %d choices shrink to %d", seed, found, len(r.Choices), len(left))
		return
	}
	t.Errorf("none of %d schedules broke %v", most, rules)
}
