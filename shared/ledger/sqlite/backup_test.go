package sqlite_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
)

type numbered struct {
	N int `json:"n"`
}

func number(t *testing.T, s *sqlite.Store, i int) {
	t.Helper()
	path := ledger.Path(fmt.Sprintf("numbers/%d", i))
	if _, err := s.Commit(t.Context(), ledger.Write{Path: path, Data: numbered{i}}); err != nil {
		t.Error(err)
	}
}

// exists reports whether a document that write made is there.
func exists(t *testing.T, s *sqlite.Store, i int) bool {
	t.Helper()
	snapshot, err := s.Get(t.Context(), ledger.Path(fmt.Sprintf("numbers/%d", i)))
	if err != nil {
		t.Fatal(err)
	}
	return snapshot.Documents[0].Exists()
}

func openFile(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestBackup: a backup has everything that was committed before it began, opens as any ledger, and
// is readable by its owner alone; the ledger stays usable meanwhile.
func TestBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, backup := openFile(t, filepath.Join(dir, "ledger.db")), filepath.Join(dir, "backup.db")
	const before, after = 50, 50
	for i := range before {
		number(t, s, i)
	}
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range after {
			number(t, s, before+i)
		}
	})
	err := s.Backup(t.Context(), backup)
	writer.Wait()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(backup)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v, want mode 0600", info.Mode(), err)
	}
	restored := openFile(t, backup)
	for i := range before {
		if !exists(t, restored, i) {
			t.Fatalf("document %d is not in the backup", i)
		}
	}
	number(t, s, 1000)
	if exists(t, restored, 1000) {
		t.Error("the backup and the ledger are one")
	}
	if err := s.Backup(t.Context(), backup); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a backup over another: %v", err)
	}
	if !exists(t, restored, 0) {
		t.Error("the refused backup has done harm")
	}
}

// TestBackupErrors: a backup that fails names the reason, and leaves no file that could be mistaken
// for one.
func TestBackupErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openFile(t, filepath.Join(dir, "ledger.db"))
	if err := s.Backup(t.Context(), filepath.Join(dir, "none", "backup.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that is not there: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "backup.db")
	if err := s.Backup(t.Context(), path); err == nil {
		t.Error("a closed ledger was backed up")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was left: %v", err)
	}
}
