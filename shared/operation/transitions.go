package operation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Transitions says which terminal states may follow which, where the later report has a newer time.
// The zero value allows none, which is the default: the first terminal state wins [M5]. A set is
// closed transitively, so that a dropped event stays dropped however the record changes later.
type Transitions struct {
	follows map[State][]State
}

// ParseTransitions reads moves such as "SUCCEEDED:FAILED", separated by white space. The error
// joins a problem for every move that is malformed or not between terminal states, and for every
// state that leads back to itself.
func ParseTransitions(text string) (Transitions, error) {
	follows := map[State][]State{}
	var problems []error
	for _, move := range strings.Fields(text) {
		from, to, ok := strings.Cut(move, ":")
		switch {
		case !ok:
			problems = append(problems, fmt.Errorf("%q is not FROM:TO, such as SUCCEEDED:FAILED", move))
		case !State(from).Terminal() || !State(to).Terminal():
			problems = append(problems, fmt.Errorf("%q must join two of SUCCEEDED, FAILED, CANCELLED, EXPIRED", move))
		default:
			follows[State(from)] = append(follows[State(from)], State(to))
		}
	}
	for changed := true; changed; {
		changed = false
		for from, tos := range follows {
			for _, middle := range tos {
				for _, to := range follows[middle] {
					if !slices.Contains(follows[from], to) {
						follows[from] = append(follows[from], to)
						changed = true
					}
				}
			}
		}
	}
	for _, s := range States() {
		if slices.Contains(follows[s], s) {
			problems = append(problems, fmt.Errorf("%s leads back to itself: a settled operation could move for ever", s))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return Transitions{}, err
	}
	return Transitions{follows: follows}, nil
}

// UnmarshalText is ParseTransitions, for settings.
func (t *Transitions) UnmarshalText(text []byte) error {
	parsed, err := ParseTransitions(string(text))
	*t = parsed
	return err
}

// String returns every allowed move in the form that ParseTransitions reads, in one order: sets that
// allow the same have the same text.
func (t Transitions) String() string {
	var moves []string
	for from, tos := range t.follows {
		for _, to := range tos {
			moves = append(moves, string(from+":"+to))
		}
	}
	slices.Sort(moves)
	return strings.Join(moves, " ")
}

// Allow reports whether an operation that settled as from may still become to, directly or by other
// moves.
func (t Transitions) Allow(from, to State) bool {
	return slices.Contains(t.follows[from], to)
}
