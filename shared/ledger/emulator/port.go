package emulator

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are given out of a range that systems do not use for outgoing connections, nor for a listener
// that names no port. Beside each stands one that is listened on while it is reserved: every process
// sees it, and it is free again when its process has died.
const firstPort, ports = 20000, 4500

// ReservePort returns a loopback port that is free, and that no process gets from ReservePort before
// release is called. It is for a server that cannot choose its port and say which it chose.
func ReservePort() (port int, release func(), err error) {
	start := rand.IntN(ports) // other processes reserve ports at the same time
	for i := range ports {
		port := firstPort + (start+i)%ports
		beside, err := listen(port + ports)
		if err != nil {
			continue
		}
		release := func() { _ = beside.Close() } // only a second call fails
		if free, err := listen(port); err == nil && free.Close() == nil {
			return port, release, nil
		}
		release()
	}
	return 0, nil, fmt.Errorf("no port from %d to %d is free", firstPort, firstPort+ports-1)
}

// listen takes a port on all addresses, so that one which is taken on any of them is not free.
func listen(port int) (net.Listener, error) { return net.Listen("tcp", ":"+strconv.Itoa(port)) }
