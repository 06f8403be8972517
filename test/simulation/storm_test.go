package simulation

import (
	"cmp"
	"flag"
	"os"
	"runtime"
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

// TestStorm runs the schedules of as many seeds as OPLEDGER_SOAK says. A seed that breaks an invariant
// is shrunk, and printed with the command that repeats it.
func TestStorm(t *testing.T) {
	if chooser := chosen(t); chooser != nil {
		r := Run(t, chooser, Options{Trace: true})
		t.Logf("\n%s", r.Trace)
		for _, violation := range r.Violations {
			t.Error(violation)
		}
		return
	}
	schedules := cmp.Or(*number, harness.Soak(t, uint64(500), 20_000, 1_000_000))
	var next, steps atomic.Uint64
	var mu sync.Mutex
	met := Met{}
	t.Run("schedules", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for i := next.Add(1) - 1; i < schedules && !t.Failed(); i = next.Add(1) - 1 {
					r := Run(t, Random(*from+i), Options{})
					steps.Add(uint64(r.Steps)) //nolint:gosec // it is positive
					mu.Lock()
					for what, times := range r.Met {
						met[what] += times
					}
					mu.Unlock()
					if len(r.Violations) > 0 {
						report(t, *from+i, r)
					}
				}
			})
		}
	})
	t.Logf("%d schedules of %d steps met %v", min(next.Load(), schedules), steps.Load(), met)
	if *from == 0 && *number == 0 && !t.Failed() { // the same at every run
		met.missed(t)
	}
}

// missed fails the test where the schedules met too little to be worth their time.
func (m Met) missed(t *testing.T) {
	t.Helper()
	for _, what := range append(fateNames[:],
		metDead, metReopened, metRevived, metSeized, metRepeated, metMissing, metStuck, metLeapt,
		metItemRepeated, metItemFailed, metRecordExpired, metEffectExpired, metWithheld) {
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

// manyTries let [least] find nearly all that can go.
const manyTries = 3000

// least shrinks a schedule in so many tries, as long as it breaks one of the rules. It returns the
// choices that are left.
func least(t *testing.T, r Result, o Options, rules []string, tries int) []int {
	t.Helper()
	return Shrink(r.Choices, tries, func(choices []int) bool {
		return breaks(Run(t, Replay(choices), o).Violations, rules) != ""
	})
}

// report fails the test with a schedule as a person can read it.
func report(t *testing.T, seed uint64, r Result) {
	t.Helper()
	left := least(t, r, Options{}, rulesOf(r.Violations[0]), manyTries)
	shrunk := Run(t, Replay(left), Options{Trace: true})
	t.Errorf("seed %d: %s\n\nShrunk to:\n%s\n"+
		"repeat it:    go test ./test/simulation -run TestStorm -v %v\n"+
		"or as shrunk: go test ./test/simulation -run TestStorm -v %v",
		seed, strings.Join(r.Violations, "\n"), shrunk.Trace, Random(seed), Replay(left))
}

// TestOneSeedIsOneSchedule: the same seed leads to the same trace, byte for byte, however many
// processors there are; and so do the choices that it made.
func TestOneSeedIsOneSchedule(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for seed := range harness.Soak(t, uint64(15), 200, 2000) {
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

// TestFlawsAreFound: each broken guard breaks a rule of its own in one of few schedules, and what is
// left after shrinking still does.
func TestFlawsAreFound(t *testing.T) {
	t.Parallel()
	const most = 200
	for _, flaw := range Flaws() {
		t.Run(flaw.String(), func(t *testing.T) {
			t.Parallel()
			o, rules := Options{Flaw: flaw}, flaw.Rules()
			for seed := range uint64(most) {
				r := Run(t, Random(seed), o)
				found := breaks(r.Violations, rules)
				if found == "" {
					continue
				}
				left := least(t, r, o, rules, harness.Soak(t, 50, manyTries, manyTries))
				if breaks(Run(t, Replay(left), o).Violations, rules) == "" {
					t.Errorf("what seed %d shrinks to, %v, breaks none of %v", seed, left, rules)
				}
				t.Logf("found by schedule %d: %s; %d choices shrink to %d", seed+1, found, len(r.Choices), len(left))
				return
			}
			t.Errorf("none of %d schedules broke %v", most, rules)
		})
	}
}
