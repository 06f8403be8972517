package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
)

// TestReady: a ledger that can be written is ready, and trying it leaves nothing behind. Once its file
// was moved, deleted or replaced it is neither ready nor written.
func TestReady(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(path string) error{
		"moved":   func(path string) error { return os.Rename(path, path+".moved") },
		"deleted": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".moved"), os.WriteFile(path, nil, 0o600))
		},
	} {
		path := filepath.Join(t.TempDir(), "ledger.db")
		store := open(t, path)
		write := func(id string) error {
			_, err := store.Commit(t.Context(), ledger.Write{Path: ledger.Path("a/" + id), Data: doc{}})
			return err
		}
		if err := write("before"); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(store.Ready(t.Context()), store.InPlace()); err != nil {
			t.Errorf("%s, before: %v", name, err)
		}
		if _, there := get(t, store, ""); there {
			t.Errorf("%s: what was tried is stored", name)
		}
		if err := harm(path); err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{
			"ready": store.Ready(t.Context()), "in place": store.InPlace(), "a commit": write("after"),
		} {
			if !errors.Is(err, sqlite.ErrGone) || what != "in place" && !errors.Is(err, ledger.ErrUnavailable) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		closed(t, store)
	}
}
