package ledger

import (
	"testing"
	"time"
)

// TestItemsBackoff: where no item has failed the rest are left alone for no time.
func TestItemsBackoff(t *testing.T) {
	t.Parallel()
	l, err := New(nil, DefaultSettings(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if none, once := l.ItemsBackoff(ItemProgress{}), l.ItemsBackoff(ItemProgress{Tries: 1}); none != 0 || once <= 0 {
		t.Errorf("without a failure %v, after one %v", none, once)
	}
}

// TestBackoff: the back-off grows, is bounded by six leases, and holds for any number of failures
// [S4].
func TestBackoff(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{time.Nanosecond, time.Second, 10 * time.Minute, 100 * 24 * time.Hour} {
		settings := DefaultSettings()
		settings.ClaimTTL = ttl
		l, err := New(nil, settings, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, jitter := range []float64{0, 0.5, 0.999} {
			last := time.Duration(0)
			for _, failure := range []int{1, 2, 3, 10, 20, 21, 22, 63, 64, 1 << 30} {
				wait := l.backoff(failure, jitter)
				if wait < last || wait > 6*ttl {
					t.Errorf("lease %v, failure %d: %v after %v", ttl, failure, wait, last)
				}
				last = wait
			}
			if ttl >= time.Second && last < 3*ttl-1 {
				t.Errorf("lease %v: the longest wait is %v", ttl, last)
			}
		}
	}
}
