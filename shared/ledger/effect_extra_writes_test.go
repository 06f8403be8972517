package ledger

import "testing"

// TestUnversioned: what is to be replaced is tried as new first, which saves reading it.
func TestUnversioned(t *testing.T) {
	t.Parallel()
	extra := []Write{{Path: "results/a", Token: Replace}, {Path: "results/b", Token: "7"}, {Path: "results/c"}}
	for i, want := range []Token{"", "7", ""} {
		if got := unversioned(extra)[i].Token; got != want {
			t.Errorf("%s: %q, want %q", extra[i].Path, got, want)
		}
	}
	if extra[0].Token != Replace {
		t.Error("the caller's write was changed")
	}
}
