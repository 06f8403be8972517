//go:build !linux

package harness

// envKeep is what keeper_linux.go says; nothing sets it here.
const envKeep = "TEST_EMULATOR_KEEPER"

// kept returns no address: only Linux tells when a process has ended that is not a child, and only
// there nothing is left behind. Each package starts its own emulators.
func (s *shared) kept() string { return "" }

func (s *shared) keep() int { return 1 }
