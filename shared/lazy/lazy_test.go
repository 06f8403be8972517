package lazy_test

import (
	"context"
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
		return v.Get(t.Context(), func(context.Context) (int32, error) {
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

// TestClose: it closes the value once, and none is made afterwards.
func TestClose(t *testing.T) {
	t.Parallel()
	why := errors.New("closed")
	var unmade, v lazy.Value[string]
	one := func(context.Context) (string, error) { return "made", nil }
	var ended []string
	failure := errors.New("it does not end")
	end := func(value string) error {
		ended = append(ended, value)
		return failure
	}
	if err := unmade.Close(why, end); err != nil || ended != nil {
		t.Errorf("none was made: %v %q", err, ended)
	}
	if got, err := v.Get(t.Context(), one); got != "made" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if err := v.Close(why, end); !errors.Is(err, failure) {
		t.Errorf("the error of its end: %v", err)
	}
	if err := v.Close(why, end); err != nil || len(ended) != 1 || ended[0] != "made" {
		t.Errorf("ended %q: %v", ended, err)
	}
	for _, closed := range []*lazy.Value[string]{&unmade, &v} {
		if got, err := closed.Get(t.Context(), one); got != "" || !errors.Is(err, why) {
			t.Errorf("%q %v", got, err)
		}
	}
}
