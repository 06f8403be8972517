package server

import (
	"errors"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// The times between two attempts at any effect while the store is unavailable: 1 s, 2 s, 4 s … 1 min.
const (
	firstOutageWait = time.Second
	maxOutageWait   = time.Minute
)

// An outage spaces the attempts at effects while the store is unavailable. No attempt could be
// recorded then, and each of them is a line in the log: after the first failures one attempt at a time
// tries the store, for all of them.
type outage struct {
	mu    sync.Mutex
	wait  time.Duration // until the next attempt that tries; 0: the store is available
	until time.Time
}

// begin returns how long an attempt must be put off; 0: it may be made. tries: it is the one that
// tries the store for the others.
func (o *outage) begin(now time.Time) (tries bool, putOff time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.wait == 0:
		return false, 0
	case now.Before(o.until):
		return false, min(o.until.Sub(now), maxOutageWait) // also where the clock went back
	default:
		o.until = now.Add(o.wait) // the others wait meanwhile
		return true, 0
	}
}

// end takes the outcome of an attempt. Of attempts that were in progress together the first failure
// counts.
func (o *outage) end(now time.Time, tried bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !errors.Is(err, ledger.ErrUnavailable):
		o.wait = 0
	case o.wait == 0:
		o.wait = firstOutageWait
		o.until = now.Add(o.wait)
	case tried:
		o.wait = min(2*o.wait, maxOutageWait)
		o.until = now.Add(o.wait)
	}
}
