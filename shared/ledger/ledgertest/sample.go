package ledgertest

import (
	_ "embed"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

// A case of the protocol says as much about the ledger on one store as on another. About the store it says only how
// it answers the calls that the ledger makes, and most cases make calls of the same kinds. Such a case is a repeat
// where a store is slow. A new case is none before it is named in the file.

var (
	//go:embed testdata/repeats.txt
	repeatsFile string
	repeats     = strings.Split(strings.TrimSpace(repeatsFile), "\n")
)

// choose is a flag of every test binary of a store, as -update is of others.
var choose = flag.Bool("choose", false, "choose again which cases of the conformance suite are repeats")

// whole are the groups of which none is a repeat: what they try is the store, too.
var whole = regexp.MustCompile(`Races|Crashes|LostAnswers|Faults|Leap|Newer|Older|Broken|Protocol`)

// RunSample is Run without the repeats. Those that it runs make calls of every kind that the whole suite makes, which
// RunAndRecord proves.
func RunSample(t *testing.T, open func(t *testing.T) ledger.Store) {
	run(t, open, func(group, name string) bool { return !isRepeat(group, name) }, nil)
}

func isRepeat(group, name string) bool { return slices.Contains(repeats, group+"/"+name) }

// twins are how the names of two cases end that do the same: either of two calls is slow, or the answer to a commit is
// lost in either way.
var twins = [][2]string{
	{", the first is slow", ", the second is slow"},
	{fmt.Sprintf(" (%s)", LoseAnswer), fmt.Sprintf(" (%s)", RepeatItself)},
}

// RunFew is RunSample with one of each two twins, which their name chooses. All calls are the same in both.
func RunFew(t *testing.T, open func(t *testing.T) ledger.Store) {
	run(t, open, func(group, name string) bool { return !isRepeat(group, name) && !isOtherTwin(group, name) }, nil)
}

// isOtherTwin reports whether RunFew runs the twin of a case in its place: not a twin that is a repeat.
func isOtherTwin(group, name string) bool {
	for _, ends := range twins {
		for i, end := range ends {
			if of, ok := strings.CutSuffix(name, end); ok {
				return int(crc32.ChecksumIEEE([]byte(of))%2) != i && !isRepeat(group, of+ends[1-i])
			}
		}
	}
	return false
}

// RunAndRecord is Run, and checks that the repeats make no call of a kind that no other case makes. With the flag
// -choose it chooses again which cases are repeats, those with the most calls first. It belongs to a store whose tests
// are in a folder beside this one, and that runs the cases one way each time.
func RunAndRecord(t *testing.T, open func(t *testing.T) ledger.Store) {
	var (
		mu    sync.Mutex
		cases []*recorded
	)
	t.Cleanup(func() { // all cases have ended
		switch {
		case t.Failed() || len(cases) != ledgerCases():
			return // what ran is not the suite
		case *choose:
			text := strings.Join(chosen(cases), "\n") + "\n"
			if err := os.WriteFile("../ledgertest/testdata/repeats.txt", []byte(text), 0o644); err != nil {
				t.Error(err)
			}
		default:
			for _, problem := range missed(cases, repeats) {
				t.Error(problem + "; go test ./shared/ledger/sqlite -run Conformance -choose chooses again")
			}
		}
	})
	run(t, open, func(string, string) bool { return true }, func(group, name string, store ledger.Store) ledger.Store {
		mu.Lock()
		defer mu.Unlock()
		c := &recorded{group: group, name: group + "/" + name, kinds: newKinds(store)}
		cases = append(cases, c)
		return c.kinds
	})
}

// A recorded is a case of the protocol, and the calls that it made.
type recorded struct {
	group, name string // the name with its group's
	*kinds
}

// chosen returns the names of cases without which the others make calls of every kind. The dearest are left out first.
func chosen(cases []*recorded) []string {
	makers := map[string]int{}
	for _, c := range cases {
		for kind := range c.made {
			makers[kind]++
		}
	}
	cases = slices.SortedFunc(slices.Values(cases), func(a, b *recorded) int {
		if a.calls != b.calls {
			return b.calls - a.calls
		}
		return strings.Compare(a.name, b.name)
	})
	var names []string
	for _, c := range cases {
		only := false // this case makes a call that no other makes
		for kind := range c.made {
			only = only || makers[kind] == 1
		}
		if only || whole.MatchString(c.group) {
			continue
		}
		names = append(names, c.name)
		for kind := range c.made {
			makers[kind]--
		}
	}
	slices.Sort(names)
	return names
}

// missed returns what is wrong with leaving these cases out.
func missed(cases []*recorded, out []string) []string {
	made, known := map[string]bool{}, map[string]bool{}
	for _, c := range cases {
		known[c.name] = true
		if !slices.Contains(out, c.name) {
			for kind := range c.made {
				made[kind] = true
			}
		}
	}
	var problems []string
	for _, name := range out {
		if !known[name] {
			problems = append(problems, "testdata/repeats.txt names "+name+", which is no case")
		}
	}
	for _, c := range cases {
		for kind := range c.made {
			if !made[kind] {
				problems = append(problems, "only "+c.name+", which testdata/repeats.txt leaves out, makes a "+kind)
				made[kind] = true // one case says enough
			}
		}
	}
	return problems
}
