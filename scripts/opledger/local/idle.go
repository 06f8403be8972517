package local

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// An activity is a set of counts. While a run makes progress, at least one of them changes.
type activity struct {
	submitted, settled, done int // in the ledger
	created, ended           int // at Gemini
	deliveries               int // attempts
	jobs                     JobProgress
	jobSteps                 int // an upper bound of how often a job changed
	received                 receiverStats
}

// activity returns the counts as of the last scan.
func (a *audit) activity() activity {
	p := a.progress()
	steps := 0
	for _, j := range a.jobs {
		steps += j.Batches.Total + j.Batches.Done + j.Batches.Running
	}
	return activity{
		jobs: p.Jobs, jobSteps: steps,
		submitted: p.Submitted, settled: p.Settled, done: p.Done,
		created: p.Simulator.Created, ended: p.Simulator.Settled, deliveries: p.Simulator.Deliveries,
		received: a.receiver.counts(),
	}
}

// An idleTimer measures for how long nothing has changed.
type idleTimer struct {
	last  activity
	since time.Time
}

// idle returns for how long nothing has changed at now. An operation that Gemini still runs counts
// as a change, because it will end.
func (s *idleTimer) idle(now time.Time, m activity) time.Duration {
	if s.since.IsZero() || m != s.last || m.created > m.ended {
		s.last, s.since = m, now
	}
	return now.Sub(s.since)
}

// idleAfter is how long nothing may change before a run is over. It is longer than the time until a
// pass reaches an operation, and than several inconclusive look-ups in a row.
func idleAfter(l ledger.Settings) time.Duration { return 5*time.Second + l.Grace + 6*l.Interval }

// hasScheduledWork reports whether an open effect is due in the future, or was due at most d ago:
// at the end of its back-off or lease, or at the next sweep. The sweeps of an effect whose messages
// are lost become rarer and rarer.
func (a *audit) hasScheduledWork(ctx context.Context, d time.Duration) (bool, error) {
	now, err := a.ledger.Now(ctx)
	if err != nil {
		return false, fmt.Errorf("reading the ledger's clock: %w", err)
	}
	if a.waitsForJobs() {
		return true, nil
	}
	for _, r := range a.records {
		if !r.Registered || !slices.Contains(slices.Collect(maps.Values(r.Effects)), operation.EffectOpen) {
			continue
		}
		story, err := a.ledger.Operations.Show(ctx, r.Key)
		if err != nil {
			return false, fmt.Errorf("watching the effects of %s: %w", r.Key, err)
		}
		for _, e := range story.Effects {
			if e.Status() == operation.EffectOpen && (e.ClaimableAt.Add(d).After(now) || e.DueAt.Add(d).After(now)) {
				return true, nil
			}
		}
	}
	return false, nil
}
