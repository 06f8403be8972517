// Package switchboard is what a mutated copy of a package calls: it holds every mutant of the copy, of
// which the environment chooses at most one. So one build tries them all.
//
// Each call stands where its mutant would decide otherwise than the original, and only then asks On.
// So a test that never reaches On cannot tell the two apart, and need not be run.
package switchboard

import (
	"cmp"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// A name that began like opledger's settings would be a mistake in those of a function that starts.
const (
	// Chosen names the environment variable with the number of the mutant that lives; none: no one.
	Chosen = "MUTANT_CHOSEN"
	// Reached names the environment variable with the file that notes which mutants a test reaches:
	// the byte at a mutant's number becomes 1. The file is as long as there are mutants.
	Reached = "MUTANTS_REACHED"
)

var (
	chosen, _ = strconv.Atoi(os.Getenv(Chosen)) // 0 is no mutant
	notes     = newNotebook(os.Getenv(Reached))
)

// A notebook notes each mutant once.
type notebook struct {
	file *os.File
	seen []atomic.Bool
}

func newNotebook(path string) *notebook {
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0) // #nosec: the file of the program that runs the tests
	if err != nil {
		panic(err) // a test binary that notes nothing would look as if it reached nothing
	}
	info, err := file.Stat()
	if err != nil {
		panic(err)
	}
	return &notebook{file, make([]atomic.Bool, info.Size())}
}

func (n *notebook) note(id int) {
	if n.seen[id].Load() || n.seen[id].Swap(true) {
		return
	}
	if _, err := n.file.WriteAt([]byte{1}, int64(id)); err != nil {
		panic(err)
	}
}

// Environ returns the variables of this process that name mutants, for a test that starts its own
// program with an environment of its own.
func Environ() (set []string) {
	for _, variable := range []string{Chosen, Reached} {
		if value, ok := os.LookupEnv(variable); ok {
			set = append(set, variable+"="+value)
		}
	}
	return set
}

// On reports whether the mutant lives, and notes that it was reached.
func On(id int) bool {
	if notes != nil {
		notes.note(id)
	}
	return id == chosen
}

// Less is a < b; the mutant is a <= b.
func Less[T cmp.Ordered](id int, a, b T) bool { return a < b || a == b && On(id) }

// AtMost is a <= b; the mutant is a < b.
func AtMost[T cmp.Ordered](id int, a, b T) bool { return a < b || a == b && !On(id) }

// Greater is a > b; the mutant is a >= b.
func Greater[T cmp.Ordered](id int, a, b T) bool { return a > b || a == b && On(id) }

// AtLeast is a >= b; the mutant is a > b.
func AtLeast[T cmp.Ordered](id int, a, b T) bool { return a > b || a == b && !On(id) }

// Before is a.Before(b); the mutant is true of the same instant, too.
func Before(id int, a, b time.Time) bool { return a.Before(b) || a.Equal(b) && On(id) }

// After is a.After(b); the mutant is true of the same instant, too.
func After(id int, a, b time.Time) bool { return a.After(b) || a.Equal(b) && On(id) }
