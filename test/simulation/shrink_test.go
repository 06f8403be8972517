package simulation

import (
	"slices"
	"testing"
)

// TestShrink: what does not matter becomes 0, and what is 0 at the end is left out.
func TestShrink(t *testing.T) {
	t.Parallel()
	from := []int{3, 1, 0, 2, 5, 1, 1, 4, 2, 0, 7, 1, 1, 1}
	breaks := func(choices []int) bool { return len(choices) > 7 && choices[3] == 2 && choices[7] == 4 }
	if got, want := Shrink(from, 1000, breaks), []int{0, 0, 0, 2, 0, 0, 0, 4}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Shrink(from, 0, breaks); !slices.Equal(got, from) {
		t.Errorf("without a try: %v", got)
	}
}
