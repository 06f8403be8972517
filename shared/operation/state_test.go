package operation_test

import (
	"slices"
	"testing"

	"github.com/opledger/opledger/shared/operation"
)

// later are states that the API may add, or misspelled ones: all unknown [M1].
var later = []operation.State{operation.Unknown, "PAUSED", "succeeded", " RUNNING", "JOB_STATE_SUCCEEDED",
	"REQUIRES_CONTINUATION"}

func TestStates(t *testing.T) { // [M1]
	t.Parallel()
	type row struct {
		state                    operation.State
		rank                     int
		known, terminal, waiting bool
	}
	table := []row{
		{state: operation.Pending, rank: 0, known: true},
		{state: operation.Running, rank: 1, known: true},
		{state: operation.RequiresAction, rank: 1, known: true, waiting: true},
		{state: operation.Succeeded, rank: 2, known: true, terminal: true},
		{state: operation.Failed, rank: 2, known: true, terminal: true},
		{state: operation.Cancelled, rank: 2, known: true, terminal: true},
		{state: operation.Expired, rank: 2, known: true, terminal: true},
	}
	var listed []operation.State
	for _, want := range table {
		listed = append(listed, want.state)
	}
	if !slices.Equal(operation.States(), listed) {
		t.Errorf("States() = %q, want %q, lowest rank first", operation.States(), listed)
	}
	for _, state := range later {
		table = append(table, row{state: state, rank: -1})
	}
	for _, want := range table {
		s := want.state
		if got := (row{s, s.Rank(), s.Known(), s.Terminal(), s.Waiting()}); got != want {
			t.Errorf("%q is %+v, want %+v", s, got, want)
		}
	}
}

// TestUnknownStateRollsNothingBack: an unknown state never changes a known one, however new it is
// [M1].
func TestUnknownStateRollsNothingBack(t *testing.T) {
	t.Parallel()
	for _, was := range operation.States() {
		for _, is := range later {
			got := operation.Reduce(record(was, early), event(is, late), operation.Transitions{})
			if got.Applied {
				t.Errorf("%q rolled %s back: %+v", is, was, got)
			}
		}
	}
}

// TestKnownStateReplacesUnknown: a known state replaces an unknown one, however old it is [M1].
func TestKnownStateReplacesUnknown(t *testing.T) {
	t.Parallel()
	for _, was := range later {
		for _, is := range operation.States() {
			got := operation.Reduce(record(was, late), event(is, missing), operation.Transitions{})
			if want := (operation.Decision{Applied: true, Reason: operation.Advanced}); got != want {
				t.Errorf("%q to %s: %+v, want %+v", was, is, got, want)
			}
		}
	}
}
