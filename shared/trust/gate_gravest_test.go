package trust

import (
	"fmt"
	"testing"

	"github.com/opledger/opledger/shared/gemini"
)

// TestGravest: of what was wrong with two proofs, that is answered which asks for a redelivery. Next
// is a genuine proof of the wrong time, then what is counted apart, in either order [W1, W2].
func TestGravest(t *testing.T) {
	t.Parallel()
	down := fmt.Errorf("%w: for a while", ErrUnavailable)
	for _, c := range []struct{ one, other, want error }{
		{down, ErrStale, down},
		{down, ErrUndated, down},
		{down, gemini.ErrSignature, down},
		{ErrStale, ErrUndated, ErrStale},
		{ErrStale, gemini.ErrSignature, ErrStale},
		{ErrUndated, gemini.ErrSignature, ErrUndated},
	} {
		for _, problems := range [][]error{{c.one, c.other}, {c.other, c.one}} {
			if got := gravest(problems); got != c.want { //nolint:errorlint // exactly
				t.Errorf("%v: %v, want %v", problems, got, c.want)
			}
		}
	}
	if got := gravest(nil); got != gemini.ErrSignature { //nolint:errorlint // exactly
		t.Errorf("no proof at all: %v", got)
	}
}
