package phrase

import "github.com/opledger/opledger/shared/ledger"

// IntentState is the state of an intent in one word: ABANDONED is an operator's decision, GIVEN UP a pass's.
func IntentState(i ledger.Intent) string {
	if _, decided := i.Decision(); i.State == ledger.IntentAbandoned && !decided {
		return "GIVEN UP"
	}
	return string(i.State)
}
