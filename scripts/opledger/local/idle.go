package local

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A motion is what shows that a run gets on: counts, of which one at least changes as long as it does.
type motion struct {
	submitted, settled, done int // in the ledger
	created, ended           int // at Gemini
	deliveries               int // attempts
	received                 receiverStats
}

// motion returns how far the run has come, as last seen.
func (a *audit) motion() motion {
	p := a.progress()
	return motion{
		submitted: p.Submitted, settled: p.Settled, done: p.Done,
		created: p.Simulator.Created, ended: p.Simulator.Settled, deliveries: p.Simulator.Deliveries,
		received: a.receiver.counts(),
	}
}

// A stillness measures since when nothing has moved.
type stillness struct {
	last  motion
	since time.Time
}

// lasts returns for how long nothing has moved at now. What Gemini still runs moves: it will end.
func (s *stillness) lasts(now time.Time, m motion) time.Duration {
	if s.since.IsZero() || m != s.last || m.created > m.ended {
		s.last, s.since = m, now
	}
	return now.Sub(s.since)
}

// stillAfter is for how long nothing must have moved for a run to have come to rest: longer than a pass
// takes to come round to an operation and several look-ups in a row that learn nothing.
func stillAfter(l ledger.Settings) time.Duration { return 5*time.Second + l.Grace + 6*l.Interval }

// waits reports whether the ledger has an appointment with an effect: the back-off or the lease of one
// that is open has yet to end, or ended no longer than d ago; or so with the sweep, which comes ever
// more rarely to an effect whose messages were lost.
func (a *audit) waits(ctx context.Context, d time.Duration) (bool, error) {
	now, err := a.ledger.Now(ctx)
	if err != nil {
		return false, fmt.Errorf("asking for the ledger's time: %w", err)
	}
	for _, r := range a.records {
		if !r.Registered || r.Effects[publishEffect] != operation.EffectOpen {
			continue
		}
		story, err := a.ledger.Show(ctx, r.Key)
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
