package steps_test

import (
	"fmt"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/test/harness"
)

// TestLostAnswers: answers of the ledger and of Gemini are lost, and creations are carried out twice, as where
// a proxy repeats them. No process dies of that, and each request has one line [J2, J3, J7].
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for seed := range harness.Soak(t, uint64(3), 20, 200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			commits := uint64(0)
			w := newWorld(t, setting{
				sim: geminisim.Config{Seed: seed, Faults: geminisim.Faults{
					CreatesLost: 0.3, CreatesTwice: 0.3, APIErrors: 0.1, MissingLines: 0.1, Cut: 0.2, Shuffled: 0.5,
				}},
				worker: func(s ledger.Store) ledger.Store {
					return ledgertest.InjectFunc(s, func() ledgertest.Fault {
						if commits++; commits%5 != seed%5 {
							return ledgertest.None
						}
						return []ledgertest.Fault{ledgertest.LoseAnswer, ledgertest.Abort, ledgertest.RepeatItself}[commits/5%3]
					})
				},
			})
			w.submit(requests(40), job.Options{MaxRequestsPerBatch: 5, MaxAttempts: 2})
			w.settle()
			w.ended()
		})
	}
}
