package results_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/itemworld"
)

// TestResultsObjectFaults: after any fault there is one whole object in the end, written once. An
// attempt whose answer was lost is followed by one that finds the object [S4].
func TestResultsObjectFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault    func(sim *storagesim.Sim)
		outcomes []effect.Outcome
	}{
		"none": {func(*storagesim.Sim) {}, []effect.Outcome{effect.Finished}},
		"a chunk is refused": {func(s *storagesim.Sim) { s.Fail(storagesim.Chunk, 503, "") },
			[]effect.Outcome{effect.Finished}},
		"a chunk's answer is lost": {func(s *storagesim.Sim) { s.Lose(storagesim.Chunk, 503) },
			[]effect.Outcome{effect.Finished}},
		"the last answer is a 503": {func(s *storagesim.Sim) { s.Lose(storagesim.Last, 503) },
			[]effect.Outcome{effect.Finished}},
		"the last answer never comes": {func(s *storagesim.Sim) { s.Lose(storagesim.Last, 0) },
			[]effect.Outcome{effect.Failed, effect.Finished}},
		"the same, and no right to delete": {func(s *storagesim.Sim) {
			s.Lose(storagesim.Last, 0)
			s.Deny("storage.objects.delete")
			s.Deny("storage.objects.list")
		}, []effect.Outcome{effect.Failed, effect.Finished}},
		"the beginning is refused": {func(s *storagesim.Sim) { s.Fail(storagesim.Begin, 503, "") },
			[]effect.Outcome{effect.Failed, effect.Finished}},
		"the content is damaged": {func(s *storagesim.Sim) { s.Damage() },
			[]effect.Outcome{effect.Failed, effect.Finished}},
		"what is there cannot be looked at": {func(s *storagesim.Sim) {
			s.Lose(storagesim.Last, 0)
			s.Fail(storagesim.Get, 500, "")
		}, []effect.Outcome{effect.Failed, effect.Failed, effect.Finished}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newBucketWorld(t, itemworld.Many(several, 1000))
			w.End()
			c.fault(w.sim)
			for _, outcome := range c.outcomes {
				report := w.attempt(outcome)
				if outcome == effect.Failed && strings.Contains(report.Cause.Error(), "secret-of-session") {
					t.Errorf("the URL of the upload is in %v", report.Cause)
				}
			}
			w.holds(several)
		})
	}
}

// TestResultsObjectKilled: a process that dies after the upload leaves the object; its successor
// compares and finishes. One that dies, or is told to stop, during the upload leaves nothing
// visible.
func TestResultsObjectKilled(t *testing.T) {
	t.Parallel()
	w := newBucketWorld(t, itemworld.Many(several, 1000))
	w.End()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.sim.Before(storagesim.Chunk, cancel)
	report, err := w.process(w.Store).Run(ctx, w.Message())
	if err != nil || report.Outcome != effect.Failed || !errors.Is(report.Cause, context.Canceled) ||
		len(w.sim.Names()) != 0 {
		t.Fatalf("stopped: %+v %v, %v", report, err, w.sim.Names())
	}
	w.Store.Advance(ledger.DefaultSettings().ClaimTTL + time.Second)

	dying := &itemworld.Killable{Store: w.Store}
	w.sim.Before(storagesim.Last, func() { dying.Dead.Store(true) })
	if report, err := w.process(dying).Run(t.Context(), w.Message()); err == nil {
		t.Fatalf("killed: %+v", report)
	}
	w.Store.Advance(ledger.DefaultSettings().ClaimTTL + time.Second)
	w.Logged.Reset()
	w.attempt(effect.Finished)
	if object := w.holds(several); object.Metadata["opledger-fence"] != "2" ||
		!strings.Contains(w.Logged.String(), "found=true items=700") {
		t.Errorf("%v, logged %s", object.Metadata, w.Logged)
	}
}
