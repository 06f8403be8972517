package http

import (
	"context"
	"sync"
	"time"
)

// lateGap is the least time between two attempts to load a late value.
const lateGap = 10 * time.Second

// A late value is loaded at its first use and then kept, for as long as the process lives. After an
// error it is loaded again at a use that is at least lateGap later; until then each use gets that
// error.
type late[T any] struct {
	load func(context.Context) (T, error)

	mu     sync.Mutex
	loaded bool
	value  T
	err    error     // of the last load
	tried  time.Time // when that was
}

func (l *late[T]) get(ctx context.Context, now time.Time) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loaded || l.err != nil && now.Sub(l.tried) < lateGap {
		return l.value, l.err
	}
	value, err := l.load(ctx)
	if err != nil && ctx.Err() != nil {
		return l.value, err // for want of time, so the next caller must try again
	}
	if l.tried, l.err = now, err; err == nil {
		l.value, l.loaded = value, true
	}
	return l.value, err
}
