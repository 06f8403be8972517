package e2e

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/opledger/opledger/test/harness"
)

// TestCloudKilledAtEveryPoint: the effects of many completions, each message delivered up to three
// times at once by a real subscription to three processes of Effects, whose clocks are an hour
// ahead, right and an hour behind, and which are killed with SIGKILL exactly at every point between
// the claim and the acknowledgement. Every effect is DONE and none is lost [R5, S2]; the document
// that rides in the finishing commit was written once and in it [S1]; the receiver sees a repeat
// only of what did not reach the ledger, always with the same key and the same bytes [S3, S4, S6,
// S7, K4].
func TestCloudKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	const seed = 17
	completions, each := harness.Soak(t, 60, 1000, 10_000), harness.Soak(t, 1, 5, 50)
	// a pass costs the emulator as much as many effects
	interval := harness.Soak(t, 5*time.Second, 20*time.Second, 20*time.Second)
	kills := map[moment]*quota{}
	for i, point := range points() {
		kills[point.moment] = &quota{kills: each, every: completions / (2 * each), offset: 5 + min(12, completions/12)*i}
	}
	c := newCloud(t)
	f := newTeamFleet(t, c, map[string]string{"b": "-1h", "d": "0", "e": "1h"})
	f.instances = append(f.instances, &instance{name: "s", function: "Reconcile", path: "/reconcile"})
	f.settings = []string{"OPLEDGER_CLAIM_TTL=8s", "OPLEDGER_INTERVAL=" + interval.String()}
	f.killer.hunt(kills)
	repeater := newRepeater(c, seed, newFront(f))
	pushed := httptest.NewServer(repeater)
	t.Cleanup(pushed.Close)
	c.push(pushed.URL+"/"+c.topic(topicID), "")
	c.effects() // an emulator that has just started may take longer to answer first than a process waits

	began := time.Now()
	f.start()
	stop := f.schedule(interval / 2)
	var names []string
	for len(names) == 0 || len(names) < 5*completions && f.killer.hungry() {
		var more []string
		for range completions {
			more = append(more, fmt.Sprintf("batches/n%d", len(names)+len(more)))
		}
		f.planAndTell(repeater, more...)
		names = append(names, more...)
		f.within(5*time.Minute, "every effect is done", func() bool { return f.store.doneCount() == len(names) })
	}
	f.within(5*time.Minute, "Pub/Sub delivers nothing any more", repeater.rests)
	stop()
	struck := f.killer.rest()
	f.endGently()

	for _, point := range points() {
		if struck[point.moment] < each {
			t.Errorf("killed %d times at the moment %q, want %d", struck[point.moment], point.moment, each)
		}
	}
	took := time.Since(began)
	repeats := f.audit(names, c.effects())
	t.Logf(
		"%d effects in %.1f s, %s; kills %v; "+
			"effects repeated with the same bytes, by the moment of the kill %v; lost 0, extra writes made once %d",
		len(names), took.Seconds(), repeater, struck, repeats, len(names))
}
