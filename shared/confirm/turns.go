package confirm

import (
	"maps"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

const (
	maxActive     = 16     // look-ups at once
	maxRemembered = 10_000 // operations, so that many names cannot exhaust the memory
)

// turns limits the look-ups of one process: one at a time per operation, one per gap, and few at
// once. Other processes have their own.
type turns struct {
	gap    time.Duration
	mu     sync.Mutex
	active int
	last   map[operation.Key]turn
	rates  rates
}

// A turn is a look-up of an operation, under way or the last one.
type turn struct {
	active bool
	began  time.Time
}

func newTurns(gap time.Duration) *turns {
	return &turns{gap: gap, last: map[operation.Key]turn{}, rates: newRates()}
}

// enter starts a look-up of key at now for a hint of that token, and returns the function to call
// after it; or nil, and why no look-up may be made.
func (t *turns) enter(key operation.Key, token string, now time.Time) (leave func(), why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before, asked := t.last[key]; asked && t.blocks(before, now) {
		return nil, AskedLately
	}
	if t.active >= maxActive {
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
	t.last[key] = turn{active: true, began: now}
	t.active++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.last[key] = turn{began: now}
		t.active--
	}, ""
}

// blocks reports whether a turn prevents another look-up of its operation at now.
func (t *turns) blocks(other turn, now time.Time) bool {
	return other.active || now.Sub(other.began) < t.gap
}
