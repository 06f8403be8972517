package ledger

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestKeyMutex: one key has one caller at a time, other keys do not wait, a cancelled caller leaves
// nothing behind, and no lock is kept without a caller.
func TestKeyMutex(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m keyMutex
		unlock, err := m.lock(t.Context(), "batches/a")
		if err != nil {
			t.Fatal(err)
		}
		unlockOther, err := m.lock(t.Context(), "batches/b")
		if err != nil {
			t.Fatal(err)
		}
		var second bool
		go func() {
			unlock, err := m.lock(t.Context(), "batches/a")
			if err != nil {
				t.Error(err)
				return
			}
			second = true
			unlock()
		}()
		cancelled, cancel := context.WithCancelCause(t.Context())
		why := errors.New("cancelled")
		go func() {
			if _, err := m.lock(cancelled, "batches/a"); !errors.Is(err, why) {
				t.Errorf("%v, want %v", err, why)
			}
		}()
		synctest.Wait()
		if second {
			t.Error("two callers at once")
		}
		cancel(why)
		synctest.Wait()
		unlock()
		synctest.Wait()
		if !second {
			t.Error("the second caller never got the lock")
		}
		unlockOther()
		if len(m.keys) != 0 {
			t.Errorf("%d locks are still kept", len(m.keys))
		}
	})
}
