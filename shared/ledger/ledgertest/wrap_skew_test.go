package ledgertest_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

// TestSkewedNow: the time is that of the store's clock, however far that is from this process's, with what the test
// moved it by. It is between the reads before and after it, and the store is asked once.
func TestSkewedNow(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
		store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), func() time.Time {
			return time.Now().Add(ahead)
		})
		if err != nil {
			t.Fatal(err)
		}
		counting := ledgertest.Count(store)
		skewed := ledgertest.Skew(counting)
		var now, last time.Time
		step := func(what string, get bool) {
			t.Helper()
			if get {
				snapshot, err := skewed.Get(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				now = operation.Instant(snapshot.ReadTime)
			} else if now, err = skewed.Now(t.Context()); err != nil {
				t.Fatal(err)
			}
			if now.Before(last) {
				t.Errorf("clock %v ahead: %s %v, after %v", ahead, what, now, last)
			}
			last = now
		}
		step("the first time", false)
		step("the time", false)
		skewed.Advance(time.Minute)
		if last = last.Add(time.Minute); last.After(time.Now().Add(ahead + time.Minute)) {
			t.Errorf("clock %v ahead: %v, which the store's has not reached", ahead, last)
		}
		step("moved, the time", false)
		for range 100 {
			step("a read", true)
			step("after a read, the time", false)
		}
		if gets := counting.Counts().Gets; gets != 1+100 {
			t.Errorf("%d reads, want 100 and one for the first time", gets)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}
