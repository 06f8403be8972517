package gemini_test

import (
	"testing"

	"github.com/opledger/opledger/shared/gemini"
)

// TestCorrelationOfMembersOfOneName: an id in one of two members of one name finds no operation, as
// which of the two counts would be a guess; one in the last of them may be found [K6].
func TestCorrelationOfMembersOfOneName(t *testing.T) {
	t.Parallel()
	const x, y = `{"opledger_correlation_id":"x"}`, `{"opledger_correlation_id":"y"}`
	for text, want := range map[string]string{
		`{"a":{"b":` + x + `},"a":{"z":` + y + `}}`:                           "",
		`{"a":` + x + `,"a":{}}`:                                              "",
		`{"a":` + x + `,"a":7,"b":[` + y + `]}`:                               "",
		`{"opledger_correlation_id":"x","opledger_correlation_id":7}`:         "",
		`{"opledger_correlation_id":"x","opledger_correlation_id":"y"}`:       "",
		`{"opledger_correlation_id":"x","opledger_correlation_id":` + y + `}`: "",
		`{"a":7,"a":` + x + `}`:                                               "x",
	} {
		if got := gemini.CorrelationOf([]byte(text)); got != want {
			t.Errorf("K6: %q of %s, want %q", got, text, want)
		}
	}
}
