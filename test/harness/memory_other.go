//go:build !linux

package harness

// InMemory does nothing: there is no file system in memory.
func InMemory() {}
