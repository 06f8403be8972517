//go:build unix

package open

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// asItIs opens no file that a symbolic link leads to, and does not wait for the other end of a pipe.
const asItIs = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// ownersAlone returns nil for a file that is this user's, and closed to every other.
func ownersAlone(info fs.FileInfo) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%w: it belongs to another user", ErrNotOwn)
	}
	if mode := info.Mode(); mode.Perm()&0o077 != 0 {
		return fmt.Errorf("%w: its mode is %v", ErrNotOwn, mode)
	}
	return nil
}
