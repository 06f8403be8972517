package ledgertest

import (
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

// Run runs the conformance suite. open returns an empty store that no other test uses; Run closes it. Its clock must be about
// that of this process. Tests run in parallel, each on a store of its own.
func Run(t *testing.T, open func(t *testing.T) ledger.Store) {
	for _, g := range []struct {
		name  string
		tests []storeTest
	}{
		{"Write", writeTests},
		{"Values", valueTests},
		{"IDs", idTests},
		{"Read", readTests},
		{"Query", queryTests},
	} {
		t.Run("Store/"+g.name, func(t *testing.T) {
			t.Parallel()
			for _, test := range g.tests {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					test.run(t, opened(t, open))
				})
			}
		})
	}
	for _, g := range []struct {
		name  string
		tests []ledgerTest
	}{
		{"Ingest", ingestTests},
		{"IngestRaces", ingestRaces},
		{"Register", registerTests},
		{"Correlation", correlationTests},
		{"Intents", intentTests},
		{"Binding", bindingTests},
		{"IntentRaces", intentRaces},
		{"IntentCrashes", intentCrashes},
		{"IntentRenewal", intentRenewal},
		{"Search", searchTests},
		{"Discover", discoverTests},
		{"Hints", hintTests},
		{"Claim", claimTests},
		{"ClaimRaces", claimRaces},
		{"Failing", failingTests},
		{"LostAnswers", lostAnswers},
		{"Faults", faultTests},
		{"Lifetime", lifetimeTests},
		{"Withheld", withheldTests},
		{"Due", dueTests},
		{"Sweep", sweepTests},
		{"Starvation", starvationTests},
		{"Look", lookTests},
		{"Broken", brokenTests},
		{"Alerts", alertTests},
		{"AlertRaces", alertRaces},
		{"Condition", troubleTests},
		{"Abandon", abandonTests},
		{"Recover", recoverTests},
		{"Replay", replayTests},
		{"Rerun", anewTests},
		{"ReplayRaces", replayRaces},
		{"Forget", forgetTests},
		{"Items", itemTests},
		{"ItemsFailed", itemsFailed},
		{"ItemsAgain", itemsAgain},
		{"ItemCrashes", itemCrashes},
		{"Quarantine", quarantineTests},
		{"MarkRetried", retriedTests},
		{"Protocol", protocolTests},
	} {
		t.Run("Ledger/"+g.name, func(t *testing.T) {
			t.Parallel()
			for _, test := range g.tests {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					test.run(newWorld(t, opened(t, open)))
				})
			}
		})
	}
}

// A storeTest tests what the store promises by itself.
type storeTest struct {
	name string
	run  func(t *testing.T, store ledger.Store)
}

// A ledgerTest tests the protocol on the store.
type ledgerTest struct {
	name string
	run  func(w *world)
}

func opened(t *testing.T, open func(t *testing.T) ledger.Store) ledger.Store {
	store := open(t)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return store
}
