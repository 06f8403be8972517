package ledgertest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A Skewed is a store whose clock can be moved, as far as the ledger sees it: the store's
// own may be that of a server whose clock cannot be set. It is safe for concurrent use.
type Skewed struct {
	ledger.Store
	offset atomic.Int64
	leapt  atomic.Pointer[time.Time]

	mu    sync.Mutex
	asked bool
	ahead time.Duration // how far the store's clock is ahead of this process's, or less
}

// Skew returns store with a clock that Advance moves.
func Skew(store ledger.Store) *Skewed { return &Skewed{Store: store} }

// Advance moves the clock forward by d, for every later read.
func (s *Skewed) Advance(d time.Duration) { s.offset.Add(int64(d)) }

// Leap sets the clock forward, or back, as one that leaps, and the store notices.
func (s *Skewed) Leap(ctx context.Context, d time.Duration) error {
	s.Advance(d)
	snapshot, err := s.Get(ctx)
	s.leapt.Store(&snapshot.ReadTime)
	return err
}

// Now returns the time that the clock shows: no earlier than a read before it, and no later than one after it. It asks
// the store at most once, because tests want the time thousands of times: what every read says is enough.
func (s *Skewed) Now(ctx context.Context) (time.Time, error) {
	s.mu.Lock()
	asked := s.asked
	s.mu.Unlock()
	if !asked {
		if _, err := s.Get(ctx); err != nil {
			return time.Time{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return operation.Instant(time.Now().Add(s.ahead + time.Duration(s.offset.Load()))), nil
}

// learn keeps what a read says about the store's clock. Each answer took some time, so the largest is the nearest.
func (s *Skewed) learn(read time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ahead := time.Until(read); !s.asked || ahead > s.ahead {
		s.asked, s.ahead = true, ahead
	}
}

// Get is the store's Get, read at the moved time.
func (s *Skewed) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	snapshot, err := s.Store.Get(ctx, paths...)
	if err == nil {
		s.learn(snapshot.ReadTime)
	}
	snapshot.ReadTime = snapshot.ReadTime.Add(time.Duration(s.offset.Load()))
	if leapt := s.leapt.Load(); leapt != nil {
		snapshot.Leapt = *leapt
	}
	return snapshot, err
}
