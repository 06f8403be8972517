package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// A finding is what a walk finds, apart from the order in which it happens.
type finding struct{ ends, violations map[string]bool }

// anyName is the name of one of several workers or processes, which are alike.
var anyName = regexp.MustCompile(`\b(worker|process) \d+`)

// find walks through all of a small world of so many workers and replays.
func find(t *testing.T, small Small, workers, replays int) (finding, Walked) {
	t.Helper()
	found := finding{ends: map[string]bool{}, violations: map[string]bool{}}
	names := renamings(workers, replays)
	x := Walking{small: small, found: map[string]bool{}}
	x.ended = func(w *World) { found.ends[leastOf(names, ending(x.crashes, w))] = true }
	walked := x.walk(t)
	for violation := range x.found {
		for line := range strings.Lines(violation) { // in any order
			_, what, _ := strings.Cut(strings.TrimSpace(line), "no store should see: ")
			found.violations[anyName.ReplaceAllString(cmp.Or(what, strings.TrimSpace(line)), "$1")] = true
		}
	}
	return found, walked
}

// ending is what there is at an end, before the world comes to rest.
func ending(crashes int, w *World) string {
	text := []string{fmt.Sprint(crashes)}
	for _, path := range slices.Sorted(maps.Keys(w.store.documents)) {
		text = append(text, string(path)+string(w.store.documents[path].body))
	}
	var receipts []string
	for _, r := range w.receiver.receipts {
		receipts = append(receipts, fmt.Sprint(r.key, r.fence, r.payload))
	}
	slices.Sort(receipts)
	return strings.Join(append(text, receipts...), "\n")
}

// leastOf returns the least of the texts under other names: the same for all that differ in names.
func leastOf(names []*strings.Replacer, text string) string {
	var renamed []string
	for _, n := range names {
		renamed = append(renamed, n.Replace(text))
	}
	return slices.Min(renamed)
}

// renamings are all ways to exchange workers' names, and replays' names.
func renamings(workers, replays int) []*strings.Replacer {
	var all []*strings.Replacer
	for _, w := range permutations(workers) {
		for _, r := range permutations(replays) {
			var pairs []string
			for i, to := range w {
				pairs = append(pairs, fmt.Sprintf("worker %d", i+1), fmt.Sprintf("worker %d", to+1))
			}
			for i, to := range r {
				pairs = append(pairs, fmt.Sprintf("replay %d", i+1), fmt.Sprintf("replay %d", to+1))
			}
			all = append(all, strings.NewReplacer(pairs...))
		}
	}
	return all
}

func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var all [][]int
	for _, shorter := range permutations(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(shorter), at, n-1))
		}
	}
	return all
}

// A counts is a small world of one effect.
type counts struct{ workers, replays, crashes, jumps int }

func (c counts) String() string {
	return fmt.Sprintf("%d workers, %d replays, %d crashes, %d leases run out", c.workers, c.replays, c.crashes, c.jumps)
}

// TestReducedWalksFindTheSame: what a walk leaves out loses nothing. One that leaves out no order
// comes to the same ends, but for names, and to the same violations of each broken guard; outside of the gate, of those
// of an effect's claim.
func TestReducedWalksFindTheSame(t *testing.T) {
	t.Parallel()
	short := []counts{{1, 1, 0, 0}}
	night := []counts{{2, 0, 1, 0}, {1, 1, 1, 0}}
	long := []counts{{3, 0, 1, 0}, {2, 0, 0, 1}}
	for _, worlds := range harness.Soak(t, [][]counts{short}, [][]counts{short, night}, [][]counts{short, night, long}) {
		for _, of := range worlds {
			flaws := []Flaw{NoLease, NoFence, Sound}
			if harness.Thorough(t) {
				flaws = append(Flaws(), Sound)
			}
			for _, flaw := range flaws {
				t.Run(fmt.Sprintf("%s/%s", of, flaw), func(t *testing.T) {
					t.Parallel()
					small := OneEffect(of.workers, of.replays, of.crashes)
					if of.jumps > 0 {
						small.Jumps = append(small.Jumps, leaseOver)
					}
					small.Flaw = flaw
					reduced, few := find(t, small, of.workers, of.replays)
					small.Whole = true
					whole, all := find(t, small, of.workers, of.replays)
					if !maps.Equal(reduced.ends, whole.ends) {
						t.Errorf("%d ends, and %d of the whole walk", len(reduced.ends), len(whole.ends))
					}
					if !maps.Equal(reduced.violations, whole.violations) {
						t.Errorf("violations %q, and %q of the whole walk",
							slices.Sorted(maps.Keys(reduced.violations)), slices.Sorted(maps.Keys(whole.violations)))
					}
					t.Logf("%d ends and %d violations in %d schedules, and in %d of the whole walk",
						len(whole.ends), len(whole.violations), few.Schedules, all.Schedules)
				})
			}
		}
	}
}
