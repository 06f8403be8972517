package effect

import (
	"errors"
	"testing"
)

// TestPlaceOfNothing: an error of no place, and a value that could not be read, have nothing to say.
func TestPlaceOfNothing(t *testing.T) {
	t.Parallel()
	if got := placeOf(errors.New("a disk is full")); got != "" {
		t.Errorf("the place is %q", got)
	}
	if empty(nil) {
		t.Error("a value that could not be read counts as empty")
	}
}
