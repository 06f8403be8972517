package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/harness"
)

// TestReadyOnFullDisk: a ledger whose disk is full is not ready, although it can be read, and is ready
// again once there is space.
func TestReadyOnFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("opledger-ready", dir, "tmpfs", 0, "size=4194304"); err != nil {
		harness.Without(t, "SOAK_DISK", fmt.Sprintf("no disk is full here: mounting one: %v", err))
		return
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	store := open(t, filepath.Join(dir, "ledger.db"))
	if err := store.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	var refused error
	for i := 0; refused == nil && i < 1000; i++ { // the WAL may have room for some
		_, refused = store.Commit(t.Context(), ledger.Write{Path: ledger.Path(fmt.Sprintf("a/%d", i)), Data: doc{
			Text: strings.Repeat("x", 10<<10),
		}})
	}
	if err := store.Ready(t.Context()); err == nil || refused == nil {
		t.Errorf("on a full disk it is ready: %v; a commit: %v", err, refused)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := store.Ready(t.Context()); err != nil {
		t.Errorf("with space again: %v", err)
	}
	closed(t, store)
}
