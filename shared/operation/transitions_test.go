package operation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/operation"
)

// A move is one allowed change between terminal states, as text.
type move struct{ from, to operation.State }

func (m move) String() string { return fmt.Sprintf("%s:%s", m.from, m.to) }

// terminals are the states that moves are between.
func terminals() (all []operation.State) {
	for _, state := range operation.States() {
		if state.Terminal() {
			all = append(all, state)
		}
	}
	return all
}

// moveSets are all 4096 sets of moves between different terminal states, cyclic or not. The empty
// one is first.
func moveSets() []string {
	var moves []string
	for _, from := range terminals() {
		for _, to := range terminals() {
			if from != to {
				moves = append(moves, move{from, to}.String())
			}
		}
	}
	sets := make([]string, 1<<len(moves))
	for i := range sets {
		var set []string
		for bit, m := range moves {
			if i&(1<<bit) != 0 {
				set = append(set, m)
			}
		}
		sets[i] = strings.Join(set, " ")
	}
	return sets
}

// reachable reports whether a chain of moves leads from one state to the other.
func reachable(moves map[move]bool, from, to operation.State, seen ...operation.State) bool {
	for m := range moves {
		if m.from != from || slices.Contains(seen, m.to) {
			continue
		}
		if m.to == to || reachable(moves, m.to, to, append(seen, m.to)...) {
			return true
		}
	}
	return false
}

// TestTransitionsAreClosed: exactly the sets of moves without a cycle are accepted. Each allows
// exactly what a chain of its moves reaches, in whatever order they are written [M5].
func TestTransitionsAreClosed(t *testing.T) {
	t.Parallel()
	taken := 0
	for _, text := range moveSets() {
		moves := map[move]bool{}
		for _, word := range strings.Fields(text) {
			from, to, _ := strings.Cut(word, ":")
			moves[move{operation.State(from), operation.State(to)}] = true
		}
		var looping []operation.State
		for _, state := range terminals() {
			if reachable(moves, state, state) {
				looping = append(looping, state)
			}
		}
		words := strings.Fields(text)
		slices.Reverse(words)
		for _, spelled := range []string{text, strings.Join(words, "\n\t") + "  " + text} {
			allowed, err := operation.ParseTransitions(spelled)
			for _, state := range terminals() {
				if named := strings.Contains(fmt.Sprint(err), string(state)+" leads back"); named != slices.Contains(looping,
					state) {
					t.Errorf("%q: loops are %v, error is %v", spelled, looping, err)
				}
			}
			if (err != nil) != (len(looping) > 0) {
				t.Fatalf("%q: loops are %v, error is %v", spelled, looping, err)
			}
			for _, from := range worldStates() {
				for _, to := range worldStates() {
					want := err == nil && reachable(moves, from, to)
					if got := allowed.Allow(from, to); got != want {
						t.Errorf("%q allows %q to %q: %v, want %v", spelled, from, to, got, want)
					}
				}
			}
			if err == nil && spelled == text {
				taken++
			}
		}
	}
	if taken != 543 { // as many as there are acyclic graphs of four nodes
		t.Errorf("%d sets of moves are taken, want 543", taken)
	}
}

// TestTransitionsAsText: the text of every set allows what the set allows, and sets that allow the same
// have the same text.
func TestTransitionsAsText(t *testing.T) {
	t.Parallel()
	for _, text := range moveSets() {
		set, err := operation.ParseTransitions(text)
		if err != nil {
			continue
		}
		again, err := operation.ParseTransitions(set.String())
		if err != nil || again.String() != set.String() {
			t.Errorf("%q becomes %q, then %q: %v", text, set, again, err)
		}
		for _, from := range terminals() {
			for _, to := range terminals() {
				if set.Allow(from, to) != again.Allow(from, to) {
					t.Errorf("%q: %s to %s is %v, and of its text %q %v", text, from, to, set.Allow(from, to), set,
						again.Allow(from, to))
				}
			}
		}
	}
}

// TestNoTransitionsByDefault: the default allows nothing [M5].
func TestNoTransitionsByDefault(t *testing.T) {
	t.Parallel()
	for about, none := range map[string]operation.Transitions{"zero": {}, "empty": transitions(t, ""),
		"white space": transitions(t, " \n ")} {
		for _, from := range worldStates() {
			for _, to := range worldStates() {
				if none.Allow(from, to) {
					t.Errorf("%s allows %q to %q", about, from, to)
				}
			}
		}
	}
}

// TestTransitionProblems: every problem is reported at once, and then nothing is allowed [M5].
func TestTransitionProblems(t *testing.T) {
	t.Parallel()
	const ends = " must join two of SUCCEEDED, FAILED, CANCELLED, EXPIRED"
	loop := func(s operation.State) string { return string(s) + " leads back to itself" }
	for _, tt := range []struct {
		about, moves string
		want         []string // one per line of the error, in order
	}{
		{"no colon", "SUCCEEDED", []string{`"SUCCEEDED" is not FROM:TO`}},
		{"arrow", "SUCCEEDED->FAILED", []string{`"SUCCEEDED->FAILED" is not FROM:TO`}},
		{"comma between moves", "SUCCEEDED:FAILED,FAILED:EXPIRED", []string{`"SUCCEEDED:FAILED,FAILED:EXPIRED"` + ends}},
		{"two colons", "SUCCEEDED:FAILED:EXPIRED", []string{`"SUCCEEDED:FAILED:EXPIRED"` + ends}},
		{"nothing on either side", ":", []string{`":"` + ends}},
		{"from nothing", ":FAILED", []string{`":FAILED"` + ends}},
		{"to nothing", "FAILED:", []string{`"FAILED:"` + ends}},
		{"blank around the colon", "SUCCEEDED : FAILED", []string{`"SUCCEEDED" is not`, `":"` + ends, `"FAILED" is not`}},
		{"reopening [M9]", "SUCCEEDED:RUNNING", []string{`"SUCCEEDED:RUNNING"` + ends}},
		{"from a state that is no end", "PENDING:FAILED", []string{`"PENDING:FAILED"` + ends}},
		{"unknown state", "SUCCEEDED:PAUSED", []string{`"SUCCEEDED:PAUSED"` + ends}},
		{"lower case", "succeeded:failed", []string{`"succeeded:failed"` + ends}},
		{"to itself", "FAILED:FAILED", []string{loop("FAILED")}},
		{"there and back", "SUCCEEDED:FAILED FAILED:SUCCEEDED", []string{loop("SUCCEEDED"), loop("FAILED")}},
		{
			"round trip, and a way in that is no part of it",
			"EXPIRED:SUCCEEDED SUCCEEDED:FAILED FAILED:CANCELLED CANCELLED:SUCCEEDED",
			[]string{loop("SUCCEEDED"), loop("FAILED"), loop("CANCELLED")},
		},
		{
			"all at once",
			"FAILED:CANCELLED nonsense RUNNING:FAILED CANCELLED:FAILED SUCCEEDED:FAILED EXPIRED:EXPIRED",
			[]string{`"nonsense" is not`, `"RUNNING:FAILED"` + ends, loop("FAILED"), loop("CANCELLED"), loop("EXPIRED")},
		},
	} {
		t.Run(tt.about, func(t *testing.T) {
			t.Parallel()
			allowed, err := operation.ParseTransitions(tt.moves)
			if err == nil {
				t.Fatalf("%q was taken", tt.moves)
			}
			got := strings.Split(err.Error(), "\n")
			if len(got) != len(tt.want) {
				t.Fatalf("%d problems, want %d:\n%v", len(got), len(tt.want), err)
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("problem %d is %q, want %q", i, got[i], want)
				}
			}
			for _, from := range terminals() {
				for _, to := range terminals() {
					if allowed.Allow(from, to) {
						t.Errorf("%s to %s is allowed beside an error", from, to)
					}
				}
			}
		})
	}
}
