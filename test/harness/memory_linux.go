package harness

import (
	"os"
	"syscall"
)

// memory is where Linux has a file system in memory for every program.
const memory = "/dev/shm"

// InMemory lets what the tests make in temporary folders be in memory, where there is plenty of it.
// It is for the TestMain of tests with many ledgers in SQLite, which waits for the disk at each
// commit. What such a commit survives is the death of a process, and that no test sees a
// difference in. Programs may not be built there: some systems forbid to run them.
func InMemory() {
	const plenty = 2 << 30 // bytes
	var stat syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(memory, &stat) != nil || stat.Bavail*uint64(stat.Bsize) < plenty {
		return
	}
	probe, err := os.MkdirTemp(memory, "opledger-")
	if err != nil {
		return
	}
	if err := os.Remove(probe); err != nil {
		panic(err) // it is an empty folder that was just made
	}
	if err := os.Setenv("TMPDIR", memory); err != nil {
		panic(err) // only a malformed name fails
	}
}
