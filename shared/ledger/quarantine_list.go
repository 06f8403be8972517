package ledger

import (
	"context"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A QuarantineFilter chooses quarantined deliveries. Its zero fields choose all.
type QuarantineFilter struct {
	Reason string
	// Unresolved chooses those that need an operator; not together with Reason.
	Unresolved bool
	After      Cursor // as Quarantine.List returned it
	Limit      int    // must be positive
}

// List returns the quarantined deliveries, newest first, without their bodies.
func (l quarantineReader) List(ctx context.Context, f QuarantineFilter) (Page[Quarantined], error) {
	read := func(doc Document) (Quarantined, bool, error) {
		q, err := readQuarantined(doc)
		q.Body = nil
		return q, !f.Unresolved || !q.UnresolvedAt.IsZero(), err
	}
	return search(ctx, l.store, "listing the quarantine", []Query{queryQuarantined(f)}, f.Limit, read)
}

// MarkRetried records that a quarantined delivery was ingested again, and the outcome; the last
// call stands. The body stays until its retention ends, whatever the outcome [W6]. ErrNotFound:
// there is none with that delivery id. Other errors: as Ingest; calling it again is safe.
func (l Quarantine) MarkRetried(ctx context.Context, id string, outcome Outcome) error {
	return l.withQuarantined(ctx, id, "recording the retry of", func(q *Quarantined, now time.Time) (bool, error) {
		q.RetriedAt, q.Outcome = now, outcome
		return true, nil
	})
}

// Resolve records an operator's decision that a quarantined delivery needs nothing more.
// The body stays. It returns the decision that stands: of several the first. Calling it again is
// safe.
//
// Errors: ErrNotFound; ErrNoReason; else as Ingest.
func (l Quarantine) Resolve(ctx context.Context, id string, a Decision) (operation.Decided, error) {
	var stands operation.Decided
	err := l.withQuarantined(ctx, id, "resolving", func(q *Quarantined, now time.Time) (bool, error) {
		if a.Why == "" {
			return false, ErrNoReason
		}
		first := q.Resolved == nil // else it was before, perhaps by this call, whose answer was lost
		if first {
			q.Resolved = a.at(now)
		}
		stands = *q.Resolved
		return first, nil
	})
	return stands, err
}

// withQuarantined changes a quarantined delivery, and writes it where change reports that it did.
func (l *protocol) withQuarantined(
	ctx context.Context, id, doing string, change func(*Quarantined, time.Time) (changed bool, err error),
) error {
	return l.retry(ctx, doing+" quarantined delivery "+id, func(int) error {
		q, doc, now, err := l.quarantined(ctx, id)
		if err != nil {
			return err
		}
		changed, err := change(&q, now)
		if err != nil || !changed {
			return err
		}
		return l.commit(ctx, Write{Path: doc.Path, Token: doc.Token, Data: q.derived()})
	})
}
