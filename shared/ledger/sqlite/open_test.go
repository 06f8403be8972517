package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/test/harness"
)

// TestOpensAtOnce opens a new file many times concurrently, as several commands in one shell line
// do: all of them must find the one schema.
func TestOpensAtOnce(t *testing.T) {
	t.Parallel()
	for _, openers := range []int{2, 20} {
		path := filepath.Join(t.TempDir(), "ledger.db")
		stores, errs := make([]*sqlite.Store, openers), make([]error, openers)
		start := make(chan struct{})
		var group sync.WaitGroup
		for i := range openers {
			group.Go(func() {
				<-start
				stores[i], errs[i] = sqlite.Open(t.Context(), path, time.Now)
			})
		}
		close(start)
		group.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("%d at once: %v", openers, err)
		}
		if _, err := stores[0].Commit(t.Context(), ledger.Write{Path: "operations/a", Data: doc{Text: "a"}}); err != nil {
			t.Error(err)
		}
		for i, store := range stores {
			if got, _ := get(t, store, "operations/a"); got.Text != "a" {
				t.Errorf("of %d, number %d reads %+v", openers, i, got)
			}
			closed(t, store)
		}
	}
}

// TestFileModes: what is created is readable by its owner alone, the write-ahead log and its index
// included, whatever the umask allows and also through a link. The mode of a file that the operator
// created stays.
func TestFileModes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, path string)
		want    os.FileMode
	}{
		"a new file":           {func(*testing.T, string) {}, 0o600},
		"a link to a new file": {func(t *testing.T, path string) { link(t, path+".elsewhere", path) }, 0o600},
		"the operator's file":  {func(t *testing.T, path string) { write(t, path, "", 0o640) }, 0o640},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "ledger.db")
			c.prepare(t, path)
			store := open(t, path)
			defer closed(t, store)
			if _, err := store.Commit(t.Context(), ledger.Write{Path: "operations/a", Data: doc{Text: "a"}}); err != nil {
				t.Fatal(err)
			}
			file, err := filepath.EvalSymlinks(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, suffix := range []string{"", "-wal", "-shm"} {
				info, err := os.Stat(file + suffix)
				if err != nil {
					t.Fatal(err)
				}
				if mode := info.Mode().Perm(); mode != c.want {
					t.Errorf("ledger.db%s has mode %o, want %o", suffix, mode, c.want)
				}
			}
			if extra, _ := filepath.Glob(filepath.Join(dir, ".opledger-*")); len(extra) > 0 {
				t.Errorf("%v is left", extra)
			}
		})
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

const cantOpen = "in a directory that exists"

// openErrors are files that cannot be opened, and what the error must contain.
var openErrors = []struct {
	name string
	path func(t *testing.T, dir string) string
	want []string // in the error's text
}{
	{"a database of another program", func(t *testing.T, dir string) string {
		path := filepath.Join(dir, "music.db")
		raw(t, path, "CREATE TABLE songs (title TEXT)")
		return path
	}, []string{"database of another program", "name another file"}},
	{"a newer schema", func(t *testing.T, dir string) string {
		path := filepath.Join(dir, "ledger.db")
		closed(t, open(t, path))
		raw(t, path, "PRAGMA user_version = 7")
		return path
	}, []string{"schema 7", "knows 2", "use the program that wrote it"}},
	{"no such directory", func(_ *testing.T, dir string) string {
		return filepath.Join(dir, "missing", "ledger.db")
	}, []string{cantOpen}},
	{"a directory", func(_ *testing.T, dir string) string { return dir }, []string{cantOpen}},
	{"a file in the place of the directory", func(t *testing.T, dir string) string {
		write(t, filepath.Join(dir, "file"), "text", 0o600)
		return filepath.Join(dir, "file", "ledger.db")
	}, []string{cantOpen}},
	{"something else", func(t *testing.T, dir string) string {
		path := filepath.Join(dir, "ledger.db")
		write(t, path, strings.Repeat("this is not a database", 1000), 0o600)
		return path
	}, []string{"not a database", "name another file"}},
	{"a ledger without its documents", func(t *testing.T, dir string) string {
		path := filepath.Join(dir, "ledger.db")
		closed(t, open(t, path))
		raw(t, path, "DROP TABLE documents")
		return path
	}, []string{"making the index", "no such table"}},
	{"a ledger without its sequence", func(t *testing.T, dir string) string {
		path := filepath.Join(dir, "ledger.db")
		closed(t, open(t, path))
		raw(t, path, "DROP TABLE sequence")
		return path
	}, []string{"no such table: sequence"}},
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	for _, c := range openErrors {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := c.path(t, t.TempDir())
			store, err := sqlite.Open(t.Context(), path, time.Now)
			if err == nil {
				closed(t, store)
				t.Fatal("it was opened")
			}
			for _, want := range append(c.want, path) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
		})
	}
}

// TestOpenCutOff: an opening that waits for another process ends with its context, and says so.
func TestOpenCutOff(t *testing.T) {
	t.Parallel()
	path := fresh(t)
	_, unlock := locked(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := sqlite.Open(ctx, path, time.Now); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Open: %v, want the context's end", err)
	}
	unlock()
}

// TestOpenNowhere: in a working directory that is gone no path means a file, nor an unnamed one.
func TestOpenNowhere(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Remove(dir); err != nil {
		if runtime.GOOS == "windows" {
			harness.Missing(t, "Windows keeps a directory that is in use: "+err.Error())
		}
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), "ledger.db", time.Now)
	if err == nil {
		closed(t, store)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want that the directory is not there", err)
	}
}

func TestOpenWithAnEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "ledger.db"), time.Now); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v, want the context's end", err)
	}
}

// TestOddFileNames: a path stays a path, also where it has characters that a URL would interpret.
func TestOddFileNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b.db", "a?mode=memory", "a#b.db", "a%20b.db", "ü.db", "file:x", ":memory:"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		store := open(t, path)
		if _, err := store.Commit(t.Context(), ledger.Write{Path: "operations/a", Data: doc{Text: name}}); err != nil {
			t.Error(err)
		}
		closed(t, store)
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		store = open(t, path)
		if got, _ := get(t, store, "operations/a"); got.Text != name {
			t.Errorf("%q: after opening it again: %+v", name, got)
		}
		closed(t, store)
	}
}

func raw(t testing.TB, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), statement)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
