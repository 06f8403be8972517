package httpfunc

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// TestLazy: a failed build is repeated at the next use; after a success concurrent uses share the
// value.
func TestLazy(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	l := &lazy[int32]{build: func() (int32, error) {
		if n := calls.Add(1); n > 1 {
			return n, nil
		}
		return 0, errors.New("not yet")
	}}
	if _, err := l.get(); err == nil {
		t.Error("no error")
	}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if n, err := l.get(); n != 2 || err != nil {
				t.Errorf("%d %v", n, err)
			}
		})
	}
	group.Wait()
}
