package harness

import (
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"
)

// The functions framework cannot choose a port and say which it chose, so one is found before. It must
// not be taken in between, which is why it is outside the range that systems give to outgoing
// connections.
const firstPort, ports = 20000, 9000

var nextPort atomic.Int64

func init() { nextPort.Store(time.Now().UnixNano() % ports) } // other programs may look for ports at the same time

// FreePort returns a port that is free, and that no later call in this process returns soon.
func FreePort() (int, error) {
	for range ports {
		port := firstPort + int(nextPort.Add(1)%ports)
		if listener, err := net.Listen("tcp", ":"+strconv.Itoa(port)); err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("no port from %d on is free", firstPort)
}
