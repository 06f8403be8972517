package ledger

import (
	"context"
	"sync"

	"github.com/opledger/opledger/shared/operation"
)

// A queue lets the callers of one process that report on the same operation go one after the other. The store would keep
// them apart, too, but each lost race costs a read and a commit. It guards nothing: other processes know nothing of it.
type queue struct {
	mu   sync.Mutex
	keys map[operation.Key]*turn
}

// A turn is whose it is to report on one operation.
type turn struct {
	free    chan struct{} // holds one value while it is nobody's
	callers int           // that have it or wait for it
}

// enter waits for the caller's turn. It must call leave afterwards. The error is the context's.
func (q *queue) enter(ctx context.Context, key operation.Key) (leave func(), err error) {
	q.mu.Lock()
	if q.keys == nil {
		q.keys = map[operation.Key]*turn{}
	}
	t := q.keys[key]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		q.keys[key] = t
	}
	t.callers++
	q.mu.Unlock()

	select {
	case <-t.free:
		return func() {
			t.free <- struct{}{}
			q.forget(key, t)
		}, nil
	case <-ctx.Done():
		q.forget(key, t)
		return nil, context.Cause(ctx)
	}
}

// forget drops a turn that nobody has or waits for any more.
func (q *queue) forget(key operation.Key, t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.callers--; t.callers == 0 {
		delete(q.keys, key)
	}
}
