package ledgertest

import (
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

// storeGroups are the tests of what a store promises by itself, by the name of their group.
var storeGroups = []struct {
	name  string
	tests []storeTest
}{
	{"Write", writeTests},
	{"Values", valueTests},
	{"Carry", carryTests},
	{"IDs", idTests},
	{"Read", readTests},
	{"Query", queryTests},
	{"Count", countTests},
}

// ledgerGroups are the tests of the protocol. A group is named after its file, and its file after
// the file of the ledger that it tests.
var ledgerGroups = []struct {
	name  string
	tests []ledgerTest
}{
	{"OperationIngest", operationIngest},
	{"OperationNeeds", operationNeeds},
	{"OperationResolve", operationResolve},
	{"OperationIngestRaces", operationIngestRaces},
	{"OperationRegister", operationRegister},
	{"IntentCorrelation", intentCorrelation},
	{"IntentAbandon", intentAbandon},
	{"IntentRecord", intentRecord},
	{"IntentBind", intentBind},
	{"IntentBindRaces", intentBindRaces},
	{"IntentRecordCrashes", intentRecordCrashes},
	{"IntentRenew", intentRenew},
	{"IntentSearch", intentSearch},
	{"OperationDiscover", operationDiscover},
	{"DeliveryUnverified", deliveryUnverified},
	{"EffectClaim", effectClaim},
	{"EffectClaimRaces", effectClaimRaces},
	{"EffectRelease", effectRelease},
	{"EffectHistory", effectHistory},
	{"LostAnswers", ledgerLostAnswers},
	{"Faults", ledgerFaults},
	{"OperationLifetime", operationLifetime},
	{"EffectPlan", effectPlan},
	{"OperationDue", operationDue},
	{"OperationDueWidened", operationDueWidened},
	{"OperationAnswer", operationAnswer},
	{"OperationMarks", operationMarks},
	{"Leap", leapTests},
	{"PassLast", passLast},
	{"PassScan", passScan},
	{"PassRefusals", passRefusals},
	{"SettingsStored", settingsStored},
	{"EffectRequeue", effectRequeue},
	{"EffectRequeueStarvation", effectRequeueStarvation},
	{"OperationRead", operationRead},
	{"OperationList", operationList},
	{"OperationReadBroken", operationReadBroken},
	{"Newer", ledgerNewer},
	{"Older", ledgerOlder},
	{"Alert", alertTests},
	{"AlertAbout", alertAbout},
	{"AlertRaces", alertRaces},
	{"OperationCondition", operationCondition},
	{"OperationAbandon", operationAbandon},
	{"OperationCancel", operationCancel},
	{"Job", jobTests},
	{"JobAdvance", jobAdvance},
	{"JobForget", jobForget},
	{"JobNeeds", jobNeeds},
	{"JobRestored", jobRestored},
	{"JobStepped", jobStepped},
	{"EffectContinue", effectContinue},
	{"EffectRecover", effectRecover},
	{"EffectReplay", effectReplay},
	{"EffectRerun", effectRerun},
	{"EffectReplayRaces", effectReplayRaces},
	{"OperationForget", operationForget},
	{"ItemRecord", itemRecord},
	{"ItemKeys", itemKeys},
	{"ItemFailed", itemFailed},
	{"ItemReturned", itemReturned},
	{"ItemRecordCrashes", itemRecordCrashes},
	{"Quarantine", quarantineTests},
	{"QuarantineList", quarantineList},
	{"Protocol", ledgerProtocol},
}

// Run runs the conformance suite. open returns an empty store that no other test uses; Run closes
// it. Its clock must be about that of this process. Tests run in parallel, each on a store of its
// own.
func Run(t *testing.T, open func(t *testing.T) ledger.Store) {
	run(t, open, func(string, string) bool { return true }, nil)
}

// run is Run. Of the protocol's cases it runs those that want picks, by the names of group and case. The store of each
// is what around, if not nil, makes of it.
func run(t *testing.T, open func(t *testing.T) ledger.Store, want func(group, name string) bool,
	around func(group, name string, store ledger.Store) ledger.Store,
) {
	for _, g := range storeGroups {
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
	for _, g := range ledgerGroups {
		t.Run("Ledger/"+g.name, func(t *testing.T) {
			t.Parallel()
			for _, test := range g.tests {
				if !want(g.name, test.name) {
					continue
				}
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					store := opened(t, open)
					if around != nil {
						store = around(g.name, test.name, store)
					}
					test.run(newWorld(t, store))
				})
			}
		})
	}
}

// ledgerCases is how many cases of the protocol there are.
func ledgerCases() int {
	n := 0
	for _, g := range ledgerGroups {
		n += len(g.tests)
	}
	return n
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
