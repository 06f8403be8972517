package ledgertest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// A Skewed is a store whose clock can be moved, as far as the ledger sees it: the store's
// own may be that of a server whose clock cannot be set. It is safe for concurrent use.
type Skewed struct {
	ledger.Store
	offset atomic.Int64
	leapt  atomic.Pointer[time.Time]
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

// Get is the store's Get, read at the moved time.
func (s *Skewed) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	snapshot, err := s.Store.Get(ctx, paths...)
	snapshot.ReadTime = snapshot.ReadTime.Add(time.Duration(s.offset.Load()))
	if leapt := s.leapt.Load(); leapt != nil {
		snapshot.Leapt = *leapt
	}
	return snapshot, err
}
