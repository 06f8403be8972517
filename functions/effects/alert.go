package effects

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
)

// remindEvery is how often this process says aloud that it has no handler for an effect, whose messages come with every sweep.
const remindEvery = time.Hour

// alert logs what the operator must see: an effect that was given up, one that has been failing for long, and one that this
// revision has no handler for.
func (f Function) alert(ctx context.Context, m ledger.Message, report effect.Report) {
	log := f.Log.With("event", "alert", "operation", m.Operation, "effect", m.Effect)
	switch {
	case report.Outcome == effect.Died:
		reason := "dead-effect"
		if errors.Is(report.Cause, results.ErrLost) {
			reason = "results-lost" // apart, because no replay brings them back
		}
		log.ErrorContext(ctx, "an effect was given up", "reason", reason, "error", report.Cause)
	case report.Alert:
		log.WarnContext(ctx, "an effect has been failing for long", "reason", "failing-effect", "failing_since", report.FailingSince,
			"error", report.Cause)
	case report.Outcome == effect.Unknown && f.unknown.due(ledger.RuleOf(m.Effect), f.Now()):
		log.ErrorContext(ctx, "there is no handler for an effect: deploy a revision whose OPLEDGER_EFFECTS has it", "reason", "unknown-effect",
			"error", report.Cause)
	}
}

// A reminder keeps the same thing from being said again and again. Its zero value has said nothing yet.
type reminder struct {
	mu   sync.Mutex
	said map[string]time.Time
}

// due reports whether what was not said within remindEvery, and takes it for said.
func (r *reminder) due(what string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, said := r.said[what]; said && now.Sub(last) < remindEvery {
		return false
	}
	if r.said == nil {
		r.said = map[string]time.Time{}
	}
	r.said[what] = now
	return true
}
