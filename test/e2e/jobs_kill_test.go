package e2e

import (
	"context"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/harness"
)

// TestJobSIGKILL: a process is killed with SIGKILL at any moment while a job runs, and is at once started again.
// Each request ends once, none is sent more often than the job allows, and the job has one effect [J2, J4, J5].
// At short it lives while it creates a batch, since each creation that a kill makes uncertain takes five minutes; on a
// clock of their own the tests of shared/job/steps kill it there.
func TestJobSIGKILL(t *testing.T) {
	t.Parallel()
	kills := harness.Soak(t, 3, 5, 100)
	b := inFile(t)
	n := newNightly(t, b, 1, harness.Soak(t, 600, 1_500, 60_000), geminisim.Config{Seed: 13, Faults: geminisim.Normal()})
	n.location = strings.TrimPrefix(b.variables[0], "OPLEDGER_STORE=sqlite:") + ".jobs"
	n.settings = []string{
		"OPLEDGER_CLAIM_TTL=4s",
	} // a process that waits for the processor has a second to extend its lease
	n.killer.hunt(map[moment]*quota{anyMoment: {kills: kills, every: 1}})
	n.killer.approach = harness.Soak(t, n.unlessCreating, nil, nil)
	n.start()
	n.within(patience, "the process is ready", func() bool { return n.instances[0].process().url() != "" })
	n.ledger() // opened while the process does not stand still with a lock
	began := time.Now()
	n.submitJob(12)
	roaming, rest := context.WithCancel(t.Context())
	var roam sync.WaitGroup
	roam.Go(func() { n.killer.roam(roaming, time.Second) })
	n.wait()
	rest()
	roam.Wait()
	killed := n.killer.rest()[anyMoment]
	n.endGently()
	j := n.check()
	if killed < (kills+1)/2 {
		t.Errorf("killed %d times, want %d: the run was too short to prove anything", killed, kills)
	}
	t.Logf("%d kills; %d requests in %d batches and %d rounds took %.1f s, %d twins: %+v", killed, n.requests, j.Batches,
		j.Round, time.Since(began).Seconds(), j.Twins, j.Counts)
}

// unlessCreating strikes a process that stands still, unless a creation that it announced may be under way.
func (n *nightly) unlessCreating(p *process, strike func() bool) {
	if p.url() == "" { // as it opens the ledger it keeps others from it
		return
	}
	_ = p.command.Process.Signal(syscall.SIGSTOP) // it may be dead
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Second)
	defer cancel()
	announced, err := n.ledger().Intents.Waiting(ctx, ledger.Cursor{}, 1)
	if err != nil || len(announced.Items) > 0 || !strike() {
		_ = p.command.Process.Signal(syscall.SIGCONT)
	}
}
