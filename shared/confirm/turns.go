package confirm

import (
	"maps"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

const (
	maxAsking     = 16     // look-ups at once
	maxRemembered = 10_000 // operations, so that a sender of many names cannot fill the memory
)

// turns bounds how often hints make a process ask: about one operation one at a time and once in a
// gap, about few at once. Other processes have turns of their own.
type turns struct {
	gap    time.Duration
	mu     sync.Mutex
	asking int
	last   map[operation.Key]turn
	rates  rates
}

// A turn is somebody's question about an operation.
type turn struct {
	asking bool
	began  time.Time
}

func newTurns(gap time.Duration) *turns {
	return &turns{gap: gap, last: map[operation.Key]turn{}, rates: newRates()}
}

// enter returns what the caller must call after it has asked about key; nil where that may not be
// asked about at now for a hint of that token, and why.
func (t *turns) enter(key operation.Key, token string, now time.Time) (leave func(), why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before, asked := t.last[key]; asked && t.blocks(before, now) {
		return nil, AskedLately
	}
	if t.asking >= maxAsking {
		return nil, Busy
	}
	if len(t.last) >= maxRemembered {
		maps.DeleteFunc(t.last, func(_ operation.Key, other turn) bool { return !t.blocks(other, now) })
	}
	if len(t.last) >= maxRemembered {
		return nil, Busy
	}
	if why := t.rates.exceeded(token, now); why != "" {
		return nil, why
	}
	t.last[key] = turn{asking: true, began: now}
	t.asking++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.last[key] = turn{began: now}
		t.asking--
	}, ""
}

// blocks reports whether a turn keeps its operation from being asked about at now.
func (t *turns) blocks(other turn, now time.Time) bool {
	return other.asking || now.Sub(other.began) < t.gap
}
