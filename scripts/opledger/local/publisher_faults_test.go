package local

import (
	"errors"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

// TestUnreliable: it loses and repeats as many messages as it counts, and returns every error.
func TestUnreliable(t *testing.T) {
	t.Parallel()
	const n = 2000
	for _, c := range []struct {
		faults                               string
		leastLost, mostLost, leastRe, mostRe int64
	}{
		{"none", 0, 0, 0, 0},
		{"normal", 1, n / 20, 1, n / 10},
		{"harsh", n / 10, n / 5, n / 4, n * 2 / 5},
	} {
		arrived := 0
		u := newUnreliable(1, c.faults)
		u.before(publishing(func(ledger.Message) error { arrived++; return nil }))
		for range n {
			if err := u.Publish(t.Context(), ledger.Message{}); err != nil {
				t.Fatal(err)
			}
		}
		lost, repeated := u.lost.Load(), u.repeated.Load()
		if lost < c.leastLost || lost > c.mostLost || repeated < c.leastRe || repeated > c.mostRe {
			t.Errorf("%s: %d lost, %d repeated of %d", c.faults, lost, repeated, n)
		}
		if want := n - int(lost) + int(repeated); arrived != want {
			t.Errorf("%s: %d arrived, want %d", c.faults, arrived, want)
		}
	}
	down := errors.New("down")
	u := newUnreliable(1, "none").before(publishing(func(ledger.Message) error { return down }))
	if err := u.Publish(t.Context(), ledger.Message{}); !errors.Is(err, down) {
		t.Error(err)
	}
}
