package open_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/open"
)

// TestReadOwn: a file that this user alone can have written is read; one that is not there is said to be
// not there.
func TestReadOwn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "own")
	if _, err := open.ReadOwn(path); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, open.ErrNotOwn) {
		t.Errorf("where there is none: %v", err)
	}
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if content, err := open.ReadOwn(path); err != nil || string(content) != "secret" {
		t.Errorf("%q, %v", content, err)
	}
	for _, mode := range []fs.FileMode{0o640, 0o620, 0o604, 0o602, 0o611} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if content, err := open.ReadOwn(path); !errors.Is(err, open.ErrNotOwn) || content != nil {
			t.Errorf("of mode %v: %q, %v", mode, content, err)
		}
	}
}
