package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
)

// commit stores a document.
func commit(t *testing.T, store *sqlite.Store, path ledger.Path) {
	t.Helper()
	if _, err := store.Commit(t.Context(), ledger.Write{Path: path, Data: doc{Text: "a"}}); err != nil {
		t.Fatal(err)
	}
}

// TestCreateAnywhere: a ledger is created also where the folder's name has what a query of an address has.
func TestCreateAnywhere(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a b+c%20d?e&f")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(folder, "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, store, ledger.OperationPath("batches/a"))
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// TestCreateBesideALog: no ledger is created beside the log of a file that is gone, because SQLite
// deletes such a log with the commits in it. With the file back beside its log all is there.
func TestCreateBesideALog(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		link  bool
		leave func(path string) error // at the path of the file that was moved
	}{
		"nothing is left":       {leave: func(string) error { return nil }},
		"an empty file is left": {leave: func(path string) error { return os.WriteFile(path, nil, 0o600) }},
		"a link to it is left":  {link: true, leave: func(string) error { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "ledger.db")
			path := file
			if c.link {
				path = filepath.Join(dir, "link.db")
				link(t, "ledger.db", path)
			}
			killed(t, file)
			rename(t, file, file+".moved")
			if err := c.leave(file); err != nil {
				t.Fatal(err)
			}
			store, err := sqlite.Open(t.Context(), path, time.Now)
			if err == nil {
				closed(t, store)
				t.Fatal("a new ledger was made, and the log of the other is lost")
			}
			if said := err.Error(); !strings.Contains(said, "-wal") || !strings.Contains(said, "move the file back") {
				t.Errorf("%v", err)
			}
			_ = os.Remove(file) // there may be none
			rename(t, file+".moved", file)
			store = open(t, path)
			if _, there := get(t, store, "operations/a"); !there {
				t.Error("what was recorded is lost")
			}
			closed(t, store)
		})
	}
}

// TestCreateBesideAnEmptyLog: a log without commits keeps no ledger from being created.
func TestCreateBesideAnEmptyLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	write(t, path+"-wal", "", 0o600)
	store := open(t, path)
	commit(t, store, "operations/a")
	closed(t, store)
}

// killed makes a ledger as a process leaves it that was killed: its commits are in the log.
func killed(t *testing.T, path string) {
	t.Helper()
	alive := filepath.Join(t.TempDir(), "alive.db")
	store := open(t, alive)
	commit(t, store, "operations/a")
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(alive + suffix)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path+suffix, string(text), 0o600)
	}
	closed(t, store)
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// TestCloseMoved: the file that was moved while it was open has every commit once it is closed, without
// the log, which stays behind.
func TestCloseMoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	store := open(t, path)
	commit(t, store, "operations/a")
	moved := filepath.Join(t.TempDir(), "moved.db")
	rename(t, path, moved)
	closed(t, store)
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		t.Errorf("%d bytes of the log stay behind", log.Size())
	}
	store = open(t, moved)
	if _, there := get(t, store, "operations/a"); !there {
		t.Error("what was recorded is lost")
	}
	closed(t, store)
}

// TestCloseMovedWhileRead: where another process reads the file that was moved, and commits stay in the
// log, the error names the log.
func TestCloseMovedWhileRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	store := open(t, path)
	commit(t, store, "operations/a")
	reader := snapshot(t, path)
	commit(t, store, "operations/b")
	rename(t, path, path+".moved")
	if err := store.Close(); err == nil || !strings.Contains(err.Error(), path+"-wal") {
		t.Errorf("%v", err)
	}
	reader()
}

// TestCloseMovedWhileEmptied: where another process brings the log into the file that was moved, and has not done so
// yet, the error names the log.
func TestCloseMovedWhileEmptied(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	store := open(t, path)
	commit(t, store, "operations/a")
	reader := snapshot(t, path)
	commit(t, store, "operations/b")
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	empties, err := other.Conn(t.Context())
	if err == nil {
		_, err = empties.ExecContext(t.Context(), "PRAGMA busy_timeout(60000)")
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil { // it waits for the reader, but ends at once where it meets one of those below
			_, _ = empties.ExecContext(ctx, "PRAGMA wal_checkpoint(FULL)")
		}
	}()
	for all := 0; all >= 0; { // until that one has begun
		err := other.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(PASSIVE)").Scan(new(int), &all, new(int))
		if err != nil {
			t.Fatal(err)
		}
	}
	rename(t, path, path+".moved")
	if err := store.Close(); err == nil || !strings.Contains(err.Error(), path+"-wal") {
		t.Errorf("%v", err)
	}
	reader()
	cancel()
	<-ended
	if err := errors.Join(empties.Close(), other.Close()); err != nil {
		t.Error(err)
	}
}

// snapshot begins to read the file, and returns what ends that.
func snapshot(t *testing.T, path string) (end func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	var count int
	if err == nil {
		err = tx.QueryRowContext(t.Context(), "SELECT count(*) FROM documents").Scan(&count)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}
