package firestore_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

var errUnread = errors.New("the documents cannot be read")

type unreadKey struct{}

// unreadable is a store whose reads fail as their context says: the one after so many.
type unreadable struct{ ledger.Store }

func unread(ctx context.Context) error {
	if left, ok := ctx.Value(unreadKey{}).(*atomic.Int64); ok && left.Add(-1) == -1 {
		return errUnread
	}
	return nil
}

func (s unreadable) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	if err := unread(ctx); err != nil {
		return ledger.Snapshot{}, err
	}
	return s.Store.Get(ctx, paths...)
}

func (s unreadable) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	if err := unread(ctx); err != nil {
		return nil, err
	}
	return s.Store.Query(ctx, q)
}

func (s unreadable) Count(ctx context.Context, q ledger.Query, ceiling int) (int, error) {
	if err := unread(ctx); err != nil {
		return 0, err
	}
	return s.Store.Count(ctx, q, ceiling)
}

// TestEveryReadThatFails: each read of each call of the ledger fails once, with an error that no retry
// helps. The call returns it: nothing is decided on documents that were not read [W3].
func TestEveryReadThatFails(t *testing.T) {
	t.Parallel()
	populated := newFaultWorld(t)
	populate(populated)
	for _, call := range faultCalls() {
		t.Run(call.name, func(t *testing.T) {
			t.Parallel()
			w := call.world(t, populated)
			for reads := int64(0); ; reads++ {
				left := &atomic.Int64{}
				left.Store(reads)
				w.ctx = context.WithValue(t.Context(), unreadKey{}, left)
				_, err := call.act(w)
				if left.Load() >= 0 {
					return
				}
				if !errors.Is(err, errUnread) {
					t.Errorf("after %d reads: %v, want %v", reads, err, errUnread)
				}
			}
		})
	}
}
