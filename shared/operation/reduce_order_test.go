package operation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// TestDropsAreFinalAlongALife: the same holds along whole lives of operations: after any three
// applied events, every event that was ever dropped is still dropped.
func TestDropsAreFinalAlongALife(t *testing.T) {
	t.Parallel()
	var events []operation.Event
	for _, e := range worldEvents() {
		if e.State != "PAUSED" && e.State != operation.RequiresAction {
			events = append(events, e)
		}
	}
	for _, moves := range []string{"", "SUCCEEDED:FAILED", "SUCCEEDED:FAILED FAILED:CANCELLED CANCELLED:EXPIRED",
		"SUCCEEDED:FAILED SUCCEEDED:CANCELLED"} {
		allowed := transitions(t, moves)
		lives := 0
		var live func(r operation.Record, dropped []int, more int)
		live = func(r operation.Record, dropped []int, more int) {
			for _, i := range dropped {
				if d := operation.Reduce(r, events[i], allowed); d.Applied {
					t.Errorf("under %q, %s takes %s, which was dropped earlier in its life", moves, spell(r), spellEvent(events[i]))
				}
			}
			if more == 0 {
				lives++
				return
			}
			var applied []int
			now := slices.Clip(dropped)
			for i, e := range events {
				if operation.Reduce(r, e, allowed).Applied {
					applied = append(applied, i)
				} else if !slices.Contains(dropped, i) {
					now = append(now, i)
				}
			}
			for _, i := range applied {
				live(operation.Apply(r, events[i], late), now, more-1)
			}
		}
		live(operation.Record{}, nil, 3)
		live(record(operation.Pending, missing), nil, 3)
		if lives == 0 {
			t.Errorf("under %q no life is three events long", moves)
		}
	}
}

// TestOrderOfArrivalDoesNotMatter: under the default policy the order of arrival makes no
// difference. Events that agree on the end lead to the same state and time in any order: the
// highest rank, and therein the newest time [M3, M4, M5]. RUNNING and REQUIRES_ACTION at one
// instant are the exception: the first to arrive stands.
func TestOrderOfArrivalDoesNotMatter(t *testing.T) {
	t.Parallel()
	starts := []operation.Record{{}, record(operation.Pending, missing)}
	for _, end := range []operation.State{operation.Succeeded, operation.Failed, operation.Cancelled, operation.Expired} {
		var alphabet []operation.Event
		for _, state := range []operation.State{"PAUSED", operation.Pending, operation.Running, operation.RequiresAction,
			end} {
			for _, at := range []time.Time{missing, early, late} {
				alphabet = append(alphabet, event(state, at))
			}
		}
		sets := 0
		for set := range subsets(alphabet, 4) {
			for _, start := range starts {
				want, clear := newest(start, set)
				if !clear {
					continue
				}
				sets++
				for order := range permutations(set) {
					r := start
					for _, e := range order {
						if operation.Reduce(r, e, operation.Transitions{}).Applied {
							r = operation.Apply(r, e, now)
						}
					}
					if r.State != want.State || !r.UpdateTime.Equal(want.UpdateTime) {
						var steps []string
						for _, e := range order {
							steps = append(steps, spellEvent(e))
						}
						t.Fatalf("from %q, %q ends in %s, want %s", start.State, steps, spell(r), spellEvent(want))
					}
				}
			}
		}
		if sets < 2000 {
			t.Errorf("only %d sets of events with %s", sets, end)
		}
	}
}

// newest returns the event of the highest rank and therein of the newest time, counting the
// record's own. It is ambiguous where two states share both.
func newest(start operation.Record, set []operation.Event) (best operation.Event, clear bool) {
	best, clear = event(start.State, start.UpdateTime), true
	for _, e := range set {
		rank, time := e.State.Rank()-best.State.Rank(), e.UpdateTime.Compare(best.UpdateTime)
		switch {
		case rank > 0 || rank == 0 && time > 0:
			best, clear = e, true
		case rank == 0 && time == 0 && e.State != best.State:
			clear = false
		}
	}
	return best, clear
}

// subsets yields every set of one to size elements.
func subsets[T any](all []T, size int) func(yield func([]T) bool) {
	return func(yield func([]T) bool) {
		var grow func(set []T, from int) bool
		grow = func(set []T, from int) bool {
			if len(set) > 0 && !yield(set) {
				return false
			}
			for i := from; i < len(all) && len(set) < size; i++ {
				if !grow(append(slices.Clip(set), all[i]), i+1) {
					return false
				}
			}
			return true
		}
		grow(nil, 0)
	}
}

// permutations yields every order of set, in one slice that it changes in place.
func permutations[T any](set []T) func(yield func([]T) bool) {
	return func(yield func([]T) bool) {
		order := slices.Clone(set)
		var swap func(k int) bool
		swap = func(k int) bool {
			if k == len(order) {
				return yield(order)
			}
			for i := k; i < len(order); i++ {
				order[k], order[i] = order[i], order[k]
				ok := swap(k + 1)
				order[k], order[i] = order[i], order[k]
				if !ok {
					return false
				}
			}
			return true
		}
		swap(0)
	}
}
