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

// remindEvery is how often this process alerts on an effect that it has no handler for. Its
// messages arrive with every sweep.
const remindEvery = time.Hour

// alert logs what the operator must see: an effect that is dead, one that has been failing for
// long, and one that this revision has no handler for.
func (f Function) alert(ctx context.Context, m ledger.Message, report effect.Report) {
	log := f.Log.With("event", "alert", "operation", m.Operation, "effect", m.Effect)
	switch {
	case report.Outcome == effect.Died:
		reason := "dead-effect"
		if errors.Is(report.Cause, results.ErrNotFound) {
			reason = "results-lost" // a reason of its own, because no replay restores them
		}
		log.ErrorContext(ctx, "an effect was given up", "reason", reason, "error", said(report.Cause))
	case report.Alert:
		log.WarnContext(ctx, "an effect has been failing for long", "reason", "failing-effect",
			"failing_since", report.FailingSince, "error", said(report.Cause))
	case report.Outcome == effect.Unknown && f.unknown.due(ledger.RuleOf(m.Effect), f.Now()):
		log.ErrorContext(ctx, "there is no handler for an effect: deploy a revision whose OPLEDGER_EFFECTS has it",
			"reason", "unknown-effect", "error", said(report.Cause))
	}
}

// A reminder limits how often the same alert is logged.
type reminder struct {
	mu     sync.Mutex
	logged map[string]time.Time
}

// due reports whether the last alert about what is longer ago than remindEvery.
func (r *reminder) due(what string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.logged[what]) < remindEvery { // never logged: the zero time
		return false
	}
	r.logged[what] = now
	return true
}
