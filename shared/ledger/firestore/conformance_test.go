package firestore_test

import (
	"context"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/test/harness"
)

// faultPlans are ways in which the commits of a connection fail, by name.
var faultPlans = []struct {
	name string
	plan func() func() fault
}{
	{"no commit fails", every(1)},
	{"every commit fails before it is made", every(2, failBefore)},
	{"every commit is made and its answer lost", every(2, loseAnswer)},
	// Each costs the client's pause of up to a second, so not every commit.
	{"commits are aborted twice", every(16, abort, abort)},
}

// TestConformance runs the suite on a connection that works, and on connections on which commits
// fail. There every commit succeeds in the end, and each error on the way is checked: that the
// ledger copes with errors is proved by the suite itself and by TestALifeThroughFaults.
//
// The long setting runs the suite once for each plan. At night it runs once on a connection that works, and once where
// the name of a test chooses its plan. The short setting runs the second alone, without the cases that are repeats:
// SQLite runs those, and the others make every kind of call. Outside of the gate it also leaves out one of two twins.
func TestConformance(t *testing.T) {
	t.Parallel()
	plans := harness.Soak(t, 0, 1, len(faultPlans))
	for _, p := range faultPlans[:plans] {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			runThrough(t, ledgertest.Run, func(string) func() fault { return p.plan() })
		})
	}
	if plans == len(faultPlans) {
		return
	}
	run, others := harness.Soak(t, ledgertest.RunSample, ledgertest.Run, nil), faultPlans[plans:]
	if !harness.Thorough(t) {
		run = ledgertest.RunFew
	}
	t.Run("each test with a plan of its own", func(t *testing.T) {
		t.Parallel()
		runThrough(t, run, func(test string) func() fault {
			return others[crc32.ChecksumIEEE([]byte(test))%uint32(len(others))].plan()
		})
	})
}

// A suite is ledgertest.Run, or like it.
type suite = func(t *testing.T, open func(t *testing.T) ledger.Store)

// runThrough runs the suite; plan makes the plan of one test, whose name it is given.
func runThrough(t *testing.T, run suite, plan func(test string) func() fault) {
	run(t, func(t *testing.T) ledger.Store {
		layer := &breaker{next: plan(t.Name())}
		return calm(t, enduring{Store: open(t, layer.dial()), fail: t.Errorf})
	})
}

// every returns the fault plan of one connection: of each n requests the first meet the given
// faults.
func every(n int, faults ...fault) func() func() fault {
	return func() func() fault {
		requests := 0
		return func() fault {
			at := requests % n
			requests++
			if at < len(faults) {
				return faults[at]
			}
			return none
		}
	}
}

// calm returns store as it is, save for one test. Firestore reads documents at one instant. The
// emulator does not quite: it announces the time of a commit some tenths of a millisecond before it
// shows all the documents of that commit, so that about one read in two hundred, beside a writer
// that never rests, sees half of it. Nothing in the ledger rests on more than one document that it
// does not also write, but this one test is about nothing else.
func calm(t *testing.T, store ledger.Store) ledger.Store {
	if strings.HasSuffix(t.Name(), "/Get_reads_one_instant") {
		return settledReads{store}
	}
	return store
}

type settledReads struct{ ledger.Store }

// Get reads until the same is read twice, with a pause in between that is many times longer than
// what it hides.
func (s settledReads) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	tokens := func(snapshot ledger.Snapshot) []ledger.Token {
		tokens := make([]ledger.Token, len(snapshot.Documents))
		for i, doc := range snapshot.Documents {
			tokens[i] = doc.Token
		}
		return tokens
	}
	before, err := s.Store.Get(ctx, paths...)
	for err == nil {
		time.Sleep(5 * time.Millisecond)
		var after ledger.Snapshot
		if after, err = s.Store.Get(ctx, paths...); slices.Equal(tokens(before), tokens(after)) {
			return after, err
		}
		before = after
	}
	return before, err
}
