package lazy_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/opledger/opledger/shared/lazy"
)

// TestGet: after an error the next Get makes the value; concurrent ones then share it.
func TestGet(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	var v lazy.Value[int32]
	get := func() (int32, error) {
		return v.Get(func() (int32, error) {
			if n := calls.Add(1); n > 1 {
				return n, nil
			}
			return 0, errors.New("not yet")
		})
	}
	if _, err := get(); err == nil {
		t.Error("no error")
	}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if n, err := get(); n != 2 || err != nil {
				t.Errorf("%d %v", n, err)
			}
		})
	}
	group.Wait()
}

// TestClose: it returns the value once, and none is made afterwards.
func TestClose(t *testing.T) {
	t.Parallel()
	why := errors.New("closed")
	var unmade, v lazy.Value[string]
	one := func() (string, error) { return "made", nil }
	if _, made := unmade.Close(why); made {
		t.Error("none was made")
	}
	if got, err := v.Get(one); got != "made" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if last, made := v.Close(why); last != "made" || !made {
		t.Errorf("%q %v", last, made)
	}
	if _, made := v.Close(why); made {
		t.Error("it was returned twice")
	}
	for _, closed := range []*lazy.Value[string]{&unmade, &v} {
		if got, err := closed.Get(one); got != "" || !errors.Is(err, why) {
			t.Errorf("%q %v", got, err)
		}
	}
}
