package ledgertest

import (
	"context"
	"sync"

	"github.com/opledger/opledger/shared/ledger"
)

// A PausePoint is a store that stops its first commit until it is told to go on: its caller has
// read and decided, and has written nothing yet. Each caller that is to be stopped gets one of its
// own.
type PausePoint struct {
	ledger.Store
	once            sync.Once
	reached, resume chan struct{}
}

// PauseBeforeCommit returns store with a pause point in front of the first commit.
func PauseBeforeCommit(store ledger.Store) *PausePoint {
	return &PausePoint{Store: store, reached: make(chan struct{}), resume: make(chan struct{})}
}

// Reached is closed when a caller stands at the pause point.
func (p *PausePoint) Reached() <-chan struct{} { return p.reached }

// Resume lets the caller go on. It must be called once.
func (p *PausePoint) Resume() { close(p.resume) }

// Commit is the store's Commit; the first waits for Resume, or for the end of its context.
func (p *PausePoint) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	first := false
	p.once.Do(func() { first = true })
	if first {
		close(p.reached)
		select {
		case <-p.resume:
		case <-ctx.Done():
		}
	}
	return p.Store.Commit(ctx, writes...)
}
