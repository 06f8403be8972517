package spec

import (
	"errors"
	"testing"
)

// TestPlaceOfNothing: an error without a place says nothing about one.
func TestPlaceOfNothing(t *testing.T) {
	t.Parallel()
	if got := placeOf(errors.New("a disk is full")); got != "" {
		t.Errorf("the place is %q", got)
	}
}
