package emulator_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/opledger/opledger/shared/ledger/emulator"
)

// TestReservePort: what is reserved can be listened on, and is not reserved twice before its release,
// whether its server listens already or not. It runs alone: what another test starts has our listeners
// until it is another program.
func TestReservePort(t *testing.T) {
	seen := map[int]bool{}
	for range 200 {
		port, release, err := emulator.ReservePort()
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		if seen[port] {
			t.Fatalf("port %d is reserved twice", port)
		}
		seen[port] = true
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Fatal(err)
		}
		if port%2 == 0 {
			defer func() { _ = listener.Close() }()
		} else if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
