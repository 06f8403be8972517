package local

import (
	"fmt"
	"net"
	"net/http"
	"time"
)

// A loopback is a server on this machine.
type loopback struct {
	url    string
	server *http.Server
}

// listenAndServe answers on a free port.
func listenAndServe(h http.Handler) (*loopback, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("opening a port on loopback: %w", err)
	}
	return serveOn(listener, h), nil
}

// serveOn answers on a listener, and closes it at the end.
func serveOn(listener net.Listener, h http.Handler) *loopback {
	l := &loopback{
		url:    "http://" + listener.Addr().String(),
		server: &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second},
	}
	go func() { _ = l.server.Serve(listener) }() // close ends it
	return l
}

// close cuts off what is in progress: the run is over, and nothing needs these answers. Shutdown would wait for seconds
// for a request on each connection that a client has opened and not used.
func (l *loopback) close() { _ = l.server.Close() }
