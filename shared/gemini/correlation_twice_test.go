package gemini_test

import (
	"testing"

	"github.com/opledger/opledger/shared/gemini"
)

// TestCorrelationOfMembersOfOneName: of two members of one name the last counts, with all below it, as
// where a member is read by its name [K6].
func TestCorrelationOfMembersOfOneName(t *testing.T) {
	t.Parallel()
	const x, y = `{"opledger_correlation_id":"x"}`, `{"opledger_correlation_id":"y"}`
	for text, want := range map[string]string{
		`{"a":{"b":` + x + `},"a":{"z":` + y + `}}`:                           "y",
		`{"a":` + x + `,"a":{}}`:                                              "",
		`{"a":` + x + `,"a":7,"b":[` + y + `]}`:                               "y",
		`{"opledger_correlation_id":"x","opledger_correlation_id":7}`:         "",
		`{"opledger_correlation_id":"x","opledger_correlation_id":"y"}`:       "y",
		`{"opledger_correlation_id":"x","opledger_correlation_id":` + y + `}`: "y",
	} {
		if got := gemini.CorrelationOf([]byte(text)); got != want {
			t.Errorf("K6: %q of %s, want %q", got, text, want)
		}
	}
}
