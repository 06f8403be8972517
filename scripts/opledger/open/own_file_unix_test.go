//go:build unix

package open_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/open"
)

// TestReadOwnPipe: a pipe that another user put there is refused; it is not waited for.
func TestReadOwnPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if content, err := open.ReadOwn(path); !errors.Is(err, open.ErrNotOwn) || content != nil {
		t.Errorf("%q, %v", content, err)
	}
}
