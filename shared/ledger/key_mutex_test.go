package ledger

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// One caller at a time for an operation, any number for several; whoever gives up leaves no trace, and nothing stays behind.
func TestQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var q queue
		leave, err := q.enter(t.Context(), "batches/a")
		if err != nil {
			t.Fatal(err)
		}
		elsewhere, err := q.enter(t.Context(), "batches/b")
		if err != nil {
			t.Fatal(err)
		}
		var second bool
		go func() {
			leave, err := q.enter(t.Context(), "batches/a")
			if err != nil {
				t.Error(err)
				return
			}
			second = true
			leave()
		}()
		cancelled, cancel := context.WithCancelCause(t.Context())
		why := errors.New("went home")
		go func() {
			if _, err := q.enter(cancelled, "batches/a"); !errors.Is(err, why) {
				t.Errorf("%v, want %v", err, why)
			}
		}()
		synctest.Wait()
		if second {
			t.Error("two callers at once")
		}
		cancel(why)
		synctest.Wait()
		leave()
		synctest.Wait()
		if !second {
			t.Error("the second caller never had its turn")
		}
		elsewhere()
		if len(q.keys) != 0 {
			t.Errorf("%d turns are still kept", len(q.keys))
		}
	})
}
