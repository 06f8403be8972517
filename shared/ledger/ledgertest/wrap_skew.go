package ledgertest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// A Skewed is a store whose clock can be moved forward, as far as the ledger sees it: the store's
// own may be that of a server whose clock cannot be set. It is safe for concurrent use.
type Skewed struct {
	ledger.Store
	offset atomic.Int64

	mu    sync.Mutex
	ahead time.Duration // the store's clock is so far ahead of this process's at least
	known bool          // what ahead is: an answer has said it
}

// Skew returns store with a clock that Advance moves.
func Skew(store ledger.Store) *Skewed { return &Skewed{Store: store} }

// Advance moves the clock forward by d, for every later read.
func (s *Skewed) Advance(d time.Duration) { s.offset.Add(int64(d)) }

// Get is the store's Get, read at the moved time.
func (s *Skewed) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	snapshot, err := s.Store.Get(ctx, paths...)
	if err == nil {
		s.note(time.Until(snapshot.ReadTime))
	}
	snapshot.ReadTime = snapshot.ReadTime.Add(time.Duration(s.offset.Load()))
	return snapshot, err
}

// Now returns the moved time as the answers so far tell it, without another request. It is earlier
// than the store's by the way of the fastest answer, and never earlier than the time of an answer.
// Before the first answer it is that of this process's clock.
func (s *Skewed) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.ahead + time.Duration(s.offset.Load()))
}

// note keeps how far an answer says that the store's clock is ahead. The fastest answer is right.
func (s *Skewed) note(ahead time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known || ahead > s.ahead {
		s.ahead, s.known = ahead, true
	}
}
