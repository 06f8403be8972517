package harness

import (
	"testing"

	"github.com/opledger/opledger/shared/ledger/emulator"
)

// FreePort returns a loopback port that is free, and that no other test gets, in this process or
// another, before this one has ended. The functions framework cannot choose a port and say which.
func FreePort(t testing.TB) (int, error) {
	port, release, err := emulator.ReservePort()
	if err == nil {
		t.Cleanup(release)
	}
	return port, err
}
