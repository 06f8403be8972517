package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// reasonsFile says why mutants may survive.
const reasonsFile = "test/mutation/survivors.txt"

// A place is where a mutant is, and what is done there. It does not hold the guard's text, so a reason
// outlives a guard that is only worded otherwise.
type place struct {
	Package, Function string
	Kind              kind
}

func (p place) String() string {
	return strings.Join([]string{p.Package, p.Function, string(p.Kind)}, "\t")
}

func (m mutant) place() place { return place{m.Package, m.Function, m.Kind} }

// readReasons returns at each place how many mutants may survive. The file has a paragraph for each
// reason: its text, and a line for each mutant, which begins with a tab.
func readReasons(root string) (map[place]int, error) {
	content, err := os.ReadFile(filepath.Join(root, reasonsFile))
	if err != nil {
		return nil, err
	}
	allowed := map[place]int{}
	reasoned := false
	for i, line := range strings.Split(string(content), "\n") {
		row, isMutant := strings.CutPrefix(line, "\t")
		columns := strings.Split(row, "\t")
		switch {
		case line == "":
			reasoned = false
		case strings.HasPrefix(line, "#"):
		case !isMutant:
			reasoned = true
		case !reasoned:
			return nil, fmt.Errorf("%s:%d: a mutant without a reason before it", reasonsFile, i+1)
		case len(columns) != 3:
			return nil, fmt.Errorf("%s:%d: want package, function and mutation, with a tab between", reasonsFile, i+1)
		default:
			allowed[place{columns[0], columns[1], kind(columns[2])}]++
		}
	}
	return allowed, nil
}

// A tally counts the mutants of a package.
type tally struct{ mutants, killed, reasoned, surviving int }

// count counts the mutants of each package. It lists those at a place where more survive than there
// are reasons, and the places where fewer do.
func count(mutants []mutant, killed map[int]string, allowed map[place]int) (
	tallies map[string]*tally, surviving []mutant, needless []place,
) {
	tallies = map[string]*tally{}
	alive := map[place][]mutant{}
	for _, m := range mutants {
		t := tallies[m.Package]
		if t == nil {
			t = &tally{}
			tallies[m.Package] = t
		}
		t.mutants++
		left := alive[m.place()]
		if killed[m.id] == "" {
			left = append(left, m)
		} else {
			t.killed++
		}
		alive[m.place()] = left // also where none is left, so that its reasons are needless
	}
	for p := range allowed {
		if _, tried := alive[p]; !tried {
			alive[p] = nil // its guard is gone, and the reason is needless
		}
		if tallies[p.Package] == nil {
			tallies[p.Package] = &tally{}
		}
	}
	for p, left := range alive {
		t := tallies[p.Package]
		reasoned := min(len(left), allowed[p])
		t.reasoned += reasoned
		t.surviving += len(left) - reasoned
		if len(left) > reasoned {
			surviving = append(surviving, left...)
		}
		if allowed[p] > reasoned {
			needless = append(needless, p)
		}
	}
	slices.SortFunc(surviving, func(a, b mutant) int { return a.id - b.id })
	slices.SortFunc(needless, func(a, b place) int { return strings.Compare(a.String(), b.String()) })
	return tallies, surviving, needless
}
