package reconcile

import (
	"context"
	"time"
)

// checkBacklog logs an alert when something has been due for too long: passes or workers do not
// keep up, or do not run [R8]. Nothing is lost, so nothing else shows it.
func (p *pass) checkBacklog(ctx context.Context) {
	limit := p.Ledger.Settings().OverdueAfter()
	operation, effect := p.count.OldestOperationSeconds, p.count.OldestEffectSeconds
	if time.Duration(max(operation, effect))*time.Second <= limit {
		return
	}
	p.Log.WarnContext(ctx, "due operations or effects have waited for too long", "event", "alert", "reason", "overdue",
		"oldestOperationSeconds", operation, "oldestEffectSeconds", effect,
		"limitSeconds", int64(limit/time.Second))
}
