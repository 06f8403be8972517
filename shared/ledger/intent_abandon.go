package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// Overdue reports whether an OPEN intent is to be given up at now, unless its operation is found.
func (i Intent) Overdue(now time.Time) bool { return i.State == IntentOpen && !now.Before(i.GiveUpAt) }

// GiveUpAnyway is how long after its submitter's last attempt an intent is given up even though it
// is uncertain whether anything was submitted.
func (l *Ledger) GiveUpAnyway() time.Duration { return 2 * l.settings.StuckAfter }

// AbandonIntent ends the waiting for an intent's operation, for a pass that began at now. It is
// still searched for during SearchFor, where it can be listed, and its names are looked up once
// more at least. An operation that shows up later is bound all the same.
//
// ErrConflict: the intent has changed since it was found; leave it alone. Other errors: as Ingest,
// and the intent may still be due.
func (l *Ledger) AbandonIntent(ctx context.Context, d DueIntent, now time.Time) error {
	intent := d.Intent
	intent.State, intent.AbandonedAt, intent.Writer = IntentAbandoned, operation.Instant(now), l.nonce()
	what := fmt.Sprintf("abandoning the intent %q", intent.CorrelationID)
	changed := false
	err := l.decide(ctx, what, func(tries int) error {
		if tries > 0 {
			doc, found, err := l.intent(ctx, intent.CorrelationID)
			if err != nil || found.Writer == intent.Writer && found.State == IntentAbandoned {
				return err
			}
			if changed = doc.Token != d.doc.Token; changed {
				return nil
			}
		}
		write := l.writeIntent(d.doc, intent, now)
		if len(intent.Names) > 0 { // no pass may have come while they were to be looked up
			write = prolonged(write, now)
		}
		return l.commit(ctx, write)
	})
	if err == nil && changed {
		return fmt.Errorf("%s: %w", what, ErrConflict)
	}
	return err
}
