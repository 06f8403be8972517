package sqlite

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

// saysDisk checks that an error of a full disk says what to do.
func saysDisk(t *testing.T, what string, err error) {
	t.Helper()
	const says = "the disk that holds the ledger is full, or cannot be read or written: free space"
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v", what, err)
	}
}

// TestFullSaysWhatToDo: a commit for which there is no space says what to do; an error of another kind does
// not name the disk.
func TestFullSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := openTemp(t)
	if _, err := s.write.ExecContext(t.Context(), "PRAGMA max_page_count = 1"); err != nil { // as many as it has
		t.Fatal(err)
	}
	_, err := s.Commit(t.Context(), ledger.Write{Path: "operations/a", Data: doc{strings.Repeat("x", 1<<19)}})
	saysDisk(t, "a commit", err)
	spoil(t, s, &s.get)
	if _, err := s.Get(t.Context(), "operations/a"); err == nil || strings.Contains(err.Error(), "disk") {
		t.Errorf("a statement that fails: %v", err)
	}
}
