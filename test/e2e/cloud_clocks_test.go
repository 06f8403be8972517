package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// TestCloudZombieClocks is TestZombie with two processes of which one has a clock that is an hour
// ahead and the other one that is an hour behind: a lease is counted by the store's time alone.
// That of a process which lives is not seized early by one that is ahead, that of one which stands
// still is seized in due time by one that is behind, and the zombie cannot finish [S2, S6]. A short run has the zombie
// behind alone.
//
// On SQLite there is nothing to prove: that store is a file of one machine and takes the machine's
// clock for its own.
func TestCloudZombieClocks(t *testing.T) {
	t.Parallel()
	needShiftedClocks(t)
	both := []map[string]string{{"a": "-1h", "b": "1h"}, {"a": "1h", "b": "-1h"}}
	if !harness.Thorough(t) {
		both = both[:1]
	}
	for _, clocks := range both {
		t.Run(clocks["a"]+" then "+clocks["b"], func(t *testing.T) {
			t.Parallel()
			testZombieClocks(t, clocks)
		})
	}
}

func testZombieClocks(t *testing.T, clocks map[string]string) {
	const key = operation.Key("batches/job")
	// extended after two thirds; a process that waits for the processor has a quarter
	ttl := harness.Soak(t, 15*time.Second, 30*time.Second, 30*time.Second)
	var pushes sync.WaitGroup
	t.Cleanup(pushes.Wait) // when the processes have ended
	c := newCloud(t)
	f := newTeamFleet(t, c, clocks)
	f.settings = []string{"OPLEDGER_CLAIM_TTL=" + ttl.String()}
	relay := newRelay()
	f.receiver.hold = relay.hold
	f.start()
	for _, i := range f.instances {
		f.within(patience, "both instances are ready", func() bool { return i.process().url() != "" })
	}
	zombie, successor := f.find("a1"), f.find("b1")
	f.plan(string(key))
	pushes.Go(func() { f.pushTo(zombie, c, key) })
	f.within(patience, "the first is at the effect", func() bool { return len(relay.entered) == 1 })
	claimed := c.effect(key, "publish")
	f.pushTo(successor, c, key)
	f.within(patience, "the first has extended its lease", func() bool {
		return c.effect(key, "publish").ClaimableAt.After(claimed.ClaimableAt)
	})
	f.pushTo(successor, c, key)
	f.within(patience, "the other has said what it saw",
		func() bool { return len(successor.about(string(key))) == 2 })
	if said := successor.about(string(key)); !slices.Equal(said, []string{"held", "held"}) {
		t.Fatalf("of the lease of a process that lives the other said %q", said)
	}

	standStill(t, zombie)
	lease := c.effect(key, "publish")
	close(relay.stopped)
	seized := make(chan struct{})
	pushes.Go(func() {
		tick := time.NewTicker(ttl / 40)
		defer tick.Stop()
		for {
			f.pushTo(successor, c, key) // the one that is granted the claim waits for the end of the relay
			select {
			case <-seized:
				return
			case <-t.Context().Done():
				return
			case <-tick.C:
			}
		}
	})
	f.within(patience, "the other has taken the effect over", func() bool { return len(relay.entered) == 2 })
	close(seized)
	if e := c.effect(key, "publish"); e.ClaimableAt.Add(-ttl).Before(lease.ClaimableAt) {
		t.Errorf("seized at %v, a lease that ended at %v", e.ClaimableAt.Add(-ttl), lease.ClaimableAt)
	}
	signal(t, zombie, syscall.SIGCONT)
	f.within(patience, "the zombie has lost its lease",
		func() bool { return slices.Contains(zombie.about(string(key)), "lease-lost") })
	close(relay.successor)
	f.within(patience, "the effect is done",
		func() bool { return slices.Contains(successor.about(string(key)), "finished") })
	pushes.Wait()
	f.endGently()

	idempotencyKey := operation.IdempotencyKey(key, "publish")
	e := c.effects()[idempotencyKey]
	f.auditEffect(idempotencyKey, e)
	if took := e.DoneAt.Sub(e.CreatedAt); e.Fence != 2 || took < ttl || took > time.Hour/2 {
		t.Errorf("done %v after it was planned, by the claim %d", took, e.Fence)
	}
	if problems, repeats, _ := f.receiver.audit(); len(problems) > 0 || repeats != 1 {
		t.Errorf("%d repeats; %q", repeats, problems)
	}
	for _, p := range []*process{zombie, successor} {
		want, err := time.ParseDuration(clocks[p.id[:1]])
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339Nano, p.lines()[0].Time)
		if off := time.Until(at) - want; err != nil || off.Abs() > time.Hour/2 {
			t.Errorf("the clock of %s was not %v off: it says %v, %v", p.id, want, at, err)
		}
	}
}

// pushTo pushes one of the ledger's own messages to a process, as Pub/Sub does, and waits for the end.
func (f *fleet) pushTo(p *process, c *cloud, key operation.Key) {
	message := base64.StdEncoding.EncodeToString(
		fmt.Appendf(nil, `{"operation":%q,"effect":"publish","attempt":1}`, key))
	body := fmt.Appendf(nil,
		`{"message":{"data":%q,"messageId":"1"},"subscription":"projects/p/subscriptions/s"}`, message)
	status, answer, _, err := send(http.MethodPost, p.url()+"/"+c.topic(topicID), body, nil)
	if (err != nil || status != http.StatusOK) && f.t.Context().Err() == nil {
		f.t.Errorf("pushing to %s: %d %s %v", p.id, status, answer, err)
	}
}
