package ledger

import (
	"context"
	"sync"

	"github.com/opledger/opledger/shared/operation"
)

// A keyMutex is a mutex per operation key, within one process. Callers that ingest events about the
// same operation run one after the other. The store would keep them apart as well, but each lost
// race costs a read and a commit. Nothing relies on it: other processes do not share it.
type keyMutex struct {
	mu   sync.Mutex
	keys map[operation.Key]*keyLock
}

// A keyLock is the lock of one key.
type keyLock struct {
	free    chan struct{} // holds one value while the lock is free
	callers int           // that hold the lock or wait for it
}

// lock waits until the caller has the key's lock. The caller must call unlock. The error is the
// context's cause.
func (m *keyMutex) lock(ctx context.Context, key operation.Key) (unlock func(), err error) {
	m.mu.Lock()
	if m.keys == nil {
		m.keys = map[operation.Key]*keyLock{}
	}
	one := m.keys[key]
	if one == nil {
		one = &keyLock{free: make(chan struct{}, 1)}
		one.free <- struct{}{}
		m.keys[key] = one
	}
	one.callers++
	m.mu.Unlock()

	select {
	case <-one.free:
		return func() {
			one.free <- struct{}{}
			m.forget(key, one)
		}, nil
	case <-ctx.Done():
		m.forget(key, one)
		return nil, context.Cause(ctx)
	}
}

// forget drops a lock that no caller holds or waits for.
func (m *keyMutex) forget(key operation.Key, one *keyLock) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if one.callers--; one.callers == 0 {
		delete(m.keys, key)
	}
}
