package gemini_test

import (
	"testing"

	"github.com/opledger/opledger/shared/gemini"
)

// TestCorrelationOfMembersOfOneName: of two members of one name the last counts in the user metadata.
// Elsewhere an id that a later member shadows finds no operation, unless another comes before it [K6].
func TestCorrelationOfMembersOfOneName(t *testing.T) {
	t.Parallel()
	const x, y = `{"opledger_correlation_id":"x"}`, `{"opledger_correlation_id":"y"}`
	for text, want := range map[string]string{
		`{"a":{"b":` + x + `},"a":{"z":` + y + `}}`:                           "",
		`{"a":` + x + `,"a":{}}`:                                              "",
		`{"a":` + x + `,"a":7,"b":[` + y + `]}`:                               "",
		`{"opledger_correlation_id":"x","opledger_correlation_id":7}`:         "",
		`{"opledger_correlation_id":"x","opledger_correlation_id":"y"}`:       "y",
		`{"opledger_correlation_id":"x","opledger_correlation_id":` + y + `}`: "",
		`{"a":7,"a":` + x + `}`:                                               "x",
	} {
		if got := gemini.CorrelationOf([]byte(text)); got != want {
			t.Errorf("K6: %q of %s, want %q", got, text, want)
		}
	}
}
