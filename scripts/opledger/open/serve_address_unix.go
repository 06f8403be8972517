//go:build unix

package open

import (
	"io/fs"
	"os"
	"syscall"
)

// ownersAlone reports whether a file is this user's, and closed to every other.
func ownersAlone(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}
