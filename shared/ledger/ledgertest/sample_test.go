package ledgertest

import (
	"slices"
	"strings"
	"testing"
)

// TestSample: what is left out makes no kind of call that nothing else makes, of groups that try the store nothing is
// left out, and the dearest goes first.
func TestSample(t *testing.T) {
	t.Parallel()
	c := func(group, name string, calls int, made ...string) *recorded {
		k := &kinds{calls: calls, made: map[string]bool{}}
		for _, kind := range made {
			k.made[kind] = true
		}
		return &recorded{group: group, name: group + "/" + name, kinds: k}
	}
	cases := []*recorded{
		c("Job", "cheap", 1, "get"), c("Job", "dear", 9, "get"), c("JobRaces", "repeat", 9, "get"),
		c("Job", "count", 9, "get", "count"), c("Job", "also counts", 8, "count"), c("Job", "alone", 1, "query"),
	}
	want := []string{"Job/cheap", "Job/count", "Job/dear"}
	if got := chosen(cases); !slices.Equal(got, want) {
		t.Errorf("chose %q, want %q", got, want)
	}
	for _, test := range []struct {
		out  []string
		want string // in the problems; empty: none
	}{
		{want, ""},
		{append(want, "Job/alone"), "only Job/alone, which testdata/repeats.txt leaves out, makes a query"},
		{append(want, "Job/also counts"), "makes a count"},
		{append(want, "Job/gone"), "names Job/gone, which is no case"},
	} {
		problems := strings.Join(missed(cases, test.out), "\n")
		if (problems == "") != (test.want == "") || !strings.Contains(problems, test.want) {
			t.Errorf("without %q: %q, want %q", test.out, problems, test.want)
		}
	}
}

// TestTwins: of two twins that RunSample runs, RunFew leaves out one, and of other cases none. It is not the same one
// each time.
func TestTwins(t *testing.T) {
	t.Parallel()
	first := map[bool]int{}
	for _, g := range ledgerGroups {
		for _, c := range g.tests {
			for _, ends := range twins {
				of, ok := strings.CutSuffix(c.name, ends[0])
				if !ok {
					continue
				}
				sample, few := 0, 0 // of the two
				for _, end := range ends {
					if !isRepeat(g.name, of+end) {
						sample++
						if !isOtherTwin(g.name, of+end) {
							few++
						}
					}
				}
				if few != min(sample, 1) {
					t.Errorf("of %q RunFew runs %d, and RunSample %d", of, few, sample)
				}
				if sample == 2 {
					first[isOtherTwin(g.name, c.name)]++
				}
				if isOtherTwin(g.name, of) {
					t.Errorf("%q is left out, and has no twin", of)
				}
			}
		}
	}
	if first[true] < 20 || first[false] < 20 {
		t.Errorf("the first of two twins is left out %d times, and %d times not", first[true], first[false])
	}
}
