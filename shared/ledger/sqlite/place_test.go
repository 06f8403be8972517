package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// TestPlace: a read that needs another connection once the file was moved or replaced opens none. The file that was
// moved has every commit when it is closed, although all of them were in the log.
func TestPlace(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(path string) error{
		"moved":    func(string) error { return nil },
		"replaced": func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		path := filepath.Join(t.TempDir(), "ledger.db")
		store, err := Open(t.Context(), path, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Commit(t.Context(), ledger.Write{Path: "a/b", Data: struct{}{}}); err != nil {
			t.Fatal(err)
		}
		for range store.read.Stats().OpenConnections {
			if conn, err := store.read.Conn(t.Context()); err != nil {
				t.Fatal(err)
			} else {
				defer conn.Close() //nolint:errcheck // it only keeps reads from this connection
			}
		}
		if err := errors.Join(os.Rename(path, path+".moved"), harm(path)); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Get(t.Context(), "a/b"); !errors.Is(err, ErrGone) || !errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
		if file, err := os.Stat(path); name == "moved" && !errors.Is(err, fs.ErrNotExist) || err == nil && file.Size() > 0 {
			t.Errorf("%s: there is %v, %v", name, file, err)
		}
		if err := store.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		moved, err := OpenReader(t.Context(), path+".moved", time.Now)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := moved.Get(t.Context(), "a/b"); err != nil || got.Documents[0].Token == "" {
			t.Errorf("%s: what was committed is lost: %+v, %v", name, got, err)
		}
		if err := moved.Close(); err != nil {
			t.Error(err)
		}
	}
}
