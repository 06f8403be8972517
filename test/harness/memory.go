package harness

import "runtime/debug"

// SpendMemory makes tests take more memory, of which there is plenty, and less time: garbage is
// collected more rarely, and what they make in temporary folders is in memory where the system has
// a place for that. It is for the TestMain of tests with many ledgers in SQLite, which waits for
// the disk at each commit, so that the commit survives a crash of the machine: no test depends on
// that. So it is for tests that make thousands of files. Programs may not be built in such folders,
// because some systems forbid to run them.
func SpendMemory() {
	debug.SetGCPercent(400)
	filesInMemory()
}
