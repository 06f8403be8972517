package soak_test

import (
	"os"
	"testing"

	"github.com/opledger/opledger/test/soak"
)

// TestOf: each level has its count, nothing is short, and a word that is no level is refused by name.
func TestOf(t *testing.T) {
	for level, want := range map[string]int{"": 1, "short": 1, "gate": 2, "long": 3} {
		t.Setenv(soak.Variable, level)
		if got := soak.Of(t, 1, 2, 3); got != want {
			t.Errorf("%q: %d, want %d", level, got, want)
		}
	}
	if err := os.Setenv(soak.Variable, "longer"); err != nil { // t.Setenv has promised to put it back
		t.Fatal(err)
	}
	if refused := (&refusing{TB: t}); !refused.refuses() {
		t.Error("a word that is no level was taken")
	}
}

// refusing notes a Fatalf and ends the goroutine, as a test does.
type refusing struct {
	testing.TB
	text string
}

func (r *refusing) Fatalf(format string, _ ...any) {
	r.text = format
	panic(r)
}

func (r *refusing) refuses() (refused bool) {
	defer func() { refused = recover() == any(r) }()
	soak.Of[int](r, 1, 2, 3)
	return false
}
