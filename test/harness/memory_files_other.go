//go:build !linux

package harness

// filesInMemory does nothing: there is no file system in memory.
func filesInMemory() {}
