package httpfunc

import (
	"log/slog"
	"sync"
)

// lazy is a value that is built at its first use, and only once. A failed build is repeated at the
// next use.
type lazy[T any] struct {
	log   *slog.Logger
	build func() (T, error)

	mu    sync.Mutex
	built bool
	value T
}

func (l *lazy[T]) get() (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.built {
		return l.value, nil
	}
	value, err := l.build()
	if err == nil {
		l.value, l.built = value, true
	}
	return value, err
}
