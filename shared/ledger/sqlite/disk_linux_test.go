package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/opledger/opledger/test/harness"
)

// TestOpenOnFullDisk: a ledger that is opened on a full disk, to write or to read, says what to do. SQLite
// itself says only "disk I/O error (4874)" where the index of the log finds no space.
func TestOpenOnFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("opledger-open", dir, "tmpfs", 0, "size=4194304"); err != nil {
		harness.Without(t, "SOAK_DISK", fmt.Sprintf("no disk is full here: mounting one: %v", err))
		return
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "ledger.db")
	s, err := Open(t.Context(), path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 4<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	_, err = Open(t.Context(), path, time.Now)
	saysDisk(t, "an existing ledger", err)
	_, err = OpenReader(t.Context(), path, time.Now)
	saysDisk(t, "one that is read", err)
	_, err = Open(t.Context(), filepath.Join(dir, "new.db"), time.Now)
	saysDisk(t, "a new one", err)
}
