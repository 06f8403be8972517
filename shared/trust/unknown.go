package trust

import (
	"maps"
	"sync"
	"time"
)

const (
	// unknownFor is for how long an unknown id causes no fetch. It is short because a key may be
	// used before all servers publish it.
	unknownFor = 5 * time.Minute
	// maxUnknown bounds the memory. Beyond it only the gap bounds the fetches.
	maxUnknown = 64
)

// unknownIDs remembers key ids that were recently not in the set, so that a sender with one of them
// does not cause a fetch in every gap.
type unknownIDs struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func (u *unknownIDs) has(id string, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return now.Before(u.until[id])
}

func (u *unknownIDs) add(id string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.until, func(_ string, until time.Time) bool { return !now.Before(until) })
	if len(u.until) >= maxUnknown {
		return
	}
	u.until[id] = now.Add(unknownFor)
}
