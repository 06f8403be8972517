package e2e

import (
	"io"
	"net"
	"sync"
	"testing"
)

// A wire passes connections on to a server whose address may change. While it is cut it resets every
// connection, as a machine does on which no server runs.
type wire struct {
	t       *testing.T
	address string // where it is to be found, always
	running sync.WaitGroup

	mu     sync.Mutex
	server string            // empty: it is cut
	open   map[net.Conn]bool // both ends of each connection
}

// newWire opens a wire at an address. It is cut until it is joined, and again when the test ends.
func newWire(t *testing.T, address string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, address: listener.Addr().String(), open: map[net.Conn]bool{}}
	w.running.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			w.running.Go(func() { w.pass(from) })
		}
	})
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		w.cut()
		w.running.Wait()
	})
	return w
}

// join passes connections on to the server, from now on.
func (w *wire) join(server string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.server = server
}

// cut resets every connection, and every further one until the wire is joined. What was under way is
// answered no more.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.server = ""
	for c := range w.open {
		reset(c)
	}
	clear(w.open)
}

// blink cuts the wire and joins it again: only what was under way is lost.
func (w *wire) blink() {
	w.mu.Lock()
	server := w.server
	w.mu.Unlock()
	w.cut()
	w.join(server)
}

func (w *wire) pass(from net.Conn) {
	to := w.reach(from)
	if to == nil {
		reset(from)
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(from, to) // once either side has closed nothing more is said
		_ = from.Close()
	})
	_, _ = io.Copy(to, from)
	_ = to.Close()
	back.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, from)
	delete(w.open, to)
}

// reach connects to the server, and returns nil where there is none.
func (w *wire) reach(from net.Conn) net.Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.server == "" {
		return nil
	}
	to, err := net.Dial("tcp", w.server) // on this machine: at once, or never
	if err != nil {
		return nil
	}
	w.open[from], w.open[to] = true, true
	return to
}

func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it may be closed already
	}
	_ = c.Close()
}
