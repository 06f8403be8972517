package server

import (
	"bytes"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/logging"
)

// A peer is a connection from an address, which remembers that it was closed.
type peer struct {
	net.Conn
	from   string
	closed bool
}

func (p *peer) RemoteAddr() net.Addr {
	a, err := net.ResolveTCPAddr("tcp", p.from)
	if err != nil {
		panic(err)
	}
	return a
}

func (p *peer) Close() error {
	p.closed = true
	return nil
}

// TestConnections: beyond the bounds of a listener and of an address the connection is closed that
// has waited longest for a request, never one that is busy; the log says so once a minute [W7].
func TestConnections(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	now := time.Now()
	l := newConnections(8, func() time.Time { return now }, logging.New(&log, ""))
	open := func(from string) *peer {
		p := &peer{from: from}
		l.track(p, http.StateNew)
		return p
	}
	wantClosed := func(what string, all []*peer, closed ...int) {
		t.Helper()
		for i, p := range all {
			want := false
			for _, n := range closed {
				want = want || n == i
			}
			if p.closed != want {
				t.Errorf("%s: connection %d: closed %t, want %t", what, i, p.closed, want)
			}
		}
	}
	far := []*peer{open("203.0.113.7:1"), open("203.0.113.7:2"), open("203.0.113.7:3")}
	wantClosed("the third of an address that may have two", far, 0)
	l.track(far[0], http.StateClosed) // as its server notices
	l.track(far[1], http.StateActive)
	far = append(far, open("203.0.113.7:4"))
	wantClosed("one is busy", far, 0, 2)
	l.track(far[3], http.StateActive)
	far = append(far, open("203.0.113.7:5"))
	wantClosed("both are busy", far, 0, 2, 4)
	var near []*peer
	for range 6 {
		near = append(near, open("127.0.0.1:1"))
	}
	wantClosed("loopback's, up to the bound of all", near)
	l.track(near[0], http.StateActive)
	l.track(near[0], http.StateIdle) // it waits since now
	near = append(near, open("127.0.0.1:1"))
	wantClosed("one more than all", near, 1)
	wantClosed("those that are busy", far, 0, 2, 4)
	if n := strings.Count(log.String(), `"outcome":"overload"`); n != 1 {
		t.Errorf("the log says it %d times: %s", n, &log)
	}
	now = now.Add(tellEvery)
	open("127.0.0.1:1")
	if n := strings.Count(log.String(), `"outcome":"overload"`); n != 2 {
		t.Errorf("a minute later it says it %d times", n)
	}
	for c := range l.open {
		l.track(c, http.StateClosed)
	}
	if len(l.open) != 0 || len(l.from) != 0 {
		t.Errorf("%d connections are left of %d addresses", len(l.open), len(l.from))
	}
}

// TestConnectionsOf: all listeners together may use half of the files that the process may open.
func TestConnectionsOf(t *testing.T) {
	t.Parallel()
	for _, listeners := range []int{1, 2, 100} {
		if n := connectionsOf(listeners); n < leastConnections || n > mostConnections ||
			n > leastConnections && n*listeners > openFiles()/2 {
			t.Errorf("%d listeners: %d connections each, of %d files", listeners, n, openFiles())
		}
	}
}
