package ledger_test

import (
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

// TestTotal: a count in words, and the sum of two, never above the ceiling.
func TestTotal(t *testing.T) {
	t.Parallel()
	for want, total := range map[string]ledger.Total{
		"0": {}, "999": {N: 999}, "1,000": {N: 1000},
		"10,000+":   ledger.Total{N: 9_999}.Plus(ledger.Total{N: 2}),
		"1,234,567": {N: 1_234_567}, "10,000": ledger.Total{N: 9_999}.Plus(ledger.Total{N: 1}),
	} {
		if got := total.String(); got != want {
			t.Errorf("%+v: %s, want %s", total, got, want)
		}
	}
	for _, more := range [][2]ledger.Total{{{More: true}, {N: 1}}, {{N: 1}, {More: true}}} {
		if got := more[0].Plus(more[1]); got != (ledger.Total{N: 1, More: true}) {
			t.Errorf("%v and %v: %v, want that there are more", more[0], more[1], got)
		}
	}
}
