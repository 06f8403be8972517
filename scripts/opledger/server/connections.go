package server

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

const (
	// mostConnections is the most connections of one listener, however many files the process may open.
	mostConnections = 1024
	// leastConnections are allowed where it may open few.
	leastConnections = 8
	// tellEvery is the time between two lines of the log about connections that were closed.
	tellEvery = time.Minute
)

// connectionsOf returns how many connections each of several listeners may have: together they use
// half of the files that the process may open. The rest is for the store, effects and look-ups.
func connectionsOf(listeners int) int {
	return min(mostConnections, max(leastConnections, openFiles()/2/listeners))
}

// Connections bounds those of one listener [W7]. In the place of one too many, the connection that has
// waited longest for a request is closed; where all are busy, the new one.
type connections struct {
	most int // together
	each int // of one address that is not loopback's: from there a proxy brings all callers
	now  func() time.Time
	log  *slog.Logger

	mu    sync.Mutex
	open  map[net.Conn]*connection
	from  map[netip.Addr]int
	turns int       // grows whenever a connection begins to wait
	told  time.Time // when the log was last told
}

// A connection is an open one.
type connection struct {
	from  netip.Addr
	turn  int // when it began to wait for a request
	waits bool
}

func newConnections(most int, now func() time.Time, log *slog.Logger) *connections {
	return &connections{
		most: most, each: max(1, most/4), now: now, log: log,
		open: map[net.Conn]*connection{}, from: map[netip.Addr]int{},
	}
}

// track is the ConnState of a server.
func (l *connections) track(c net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if state == http.StateNew {
		peer, _ := netip.ParseAddrPort(c.RemoteAddr().String()) // of a test's connection: none
		l.open[c] = &connection{from: peer.Addr().Unmap()}
		l.from[l.open[c].from]++
	}
	one := l.open[c]
	if one == nil {
		return // it was closed here
	}
	switch state {
	case http.StateNew, http.StateIdle:
		l.turns++
		one.waits, one.turn = true, l.turns
	case http.StateActive:
		one.waits = false
	case http.StateClosed, http.StateHijacked:
		l.remove(c)
	}
	if state != http.StateNew {
		return
	}
	if all := len(l.open) > l.most; all || l.from[one.from] > l.each && !one.from.IsLoopback() {
		l.closeOne(one, all)
	}
}

// closeOne closes the connection that has waited longest, of all or of the new one's address.
func (l *connections) closeOne(fresh *connection, all bool) {
	var longest net.Conn
	for c, one := range l.open {
		if one.waits && (all || one.from == fresh.from) && (longest == nil || one.turn < l.open[longest].turn) {
			longest = c // at the least the new one, which waits
		}
	}
	if now := l.now(); now.Sub(l.told) >= tellEvery {
		l.told = now
		l.log.Warn("too many connections: those that have waited longest for a request are closed", "event", "auth",
			"outcome", "overload", "peer", fresh.from.String(), "open", len(l.open)-1)
	}
	l.remove(longest)
	_ = longest.Close() // its server notices
}

func (l *connections) remove(c net.Conn) {
	from := l.open[c].from
	delete(l.open, c)
	if l.from[from]--; l.from[from] == 0 {
		delete(l.from, from)
	}
}
