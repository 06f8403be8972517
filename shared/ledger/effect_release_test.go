package ledger

import (
	"errors"
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
	if none, once := l.Items.Backoff(ItemProgress{}), l.Items.Backoff(ItemProgress{Tries: 1}); none != 0 || once <= 0 {
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

// TestFailingForAnHour: that an effect fails is alerted once, after an hour.
func TestFailingForAnHour(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		ago     time.Duration
		alerted time.Time
		want    time.Time
	}{
		{alertFailingAfter - 1, time.Time{}, time.Time{}}, {alertFailingAfter, time.Time{}, now},
		{2 * alertFailingAfter, now.Add(-1), now.Add(-1)},
	} {
		e := Effect{Failing: &Failing{Since: now.Add(-test.ago), AlertedAt: test.alerted}}
		if e.fail(errors.New("no"), Snapshot{ReadTime: now}); !e.Failing.AlertedAt.Equal(test.want) {
			t.Errorf("failing for %v, alerted at %v: now at %v, want %v", test.ago, test.alerted, e.Failing.AlertedAt, test.want)
		}
	}
}

// TestHeld: a lease that is over at this instant holds no longer, and the last claim is of one owner
// and one fence.
func TestHeld(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		effect Effect
		want   bool
	}{
		{Effect{State: EffectClaimed, ClaimableAt: now.Add(1)}, true},
		{Effect{State: EffectClaimed, ClaimableAt: now}, false},
		{Effect{State: EffectPending, ClaimableAt: now.Add(1)}, false},
	} {
		if err := test.effect.held(now); (err != nil) != test.want {
			t.Errorf("%+v: %v", test.effect, err)
		}
	}
	e := Effect{Owner: "a", Fence: 2}
	for lease, want := range map[[2]any]bool{{"a", int64(2)}: true, {"b", int64(2)}: false, {"a", int64(1)}: false} {
		if got := e.lastHeldBy(Lease{Owner: lease[0].(string), Fence: lease[1].(int64)}); got != want {
			t.Errorf("%v held it last: %v", lease, got)
		}
	}
}
