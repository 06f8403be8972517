package ledger

import (
	"context"
	"fmt"
)

// A QuarantineFilter chooses quarantined deliveries. Its zero fields choose all.
type QuarantineFilter struct {
	Reason string
	After  Cursor // as ListQuarantined returned it
	Limit  int    // must be positive
}

// ListQuarantined returns the quarantined deliveries, newest first, without their bodies.
func (l *Ledger) ListQuarantined(ctx context.Context, f QuarantineFilter) (Page[Quarantined], error) {
	page, err := find(ctx, l.store, queryQuarantined(f), func(doc Document) (Quarantined, error) {
		var q Quarantined
		err := doc.Decode(&q)
		q.Body = nil
		return q, err
	})
	if err != nil {
		return page, fmt.Errorf("listing the quarantine: %w", err)
	}
	return page, nil
}

// MarkRetried records that a quarantined delivery was ingested again, and the outcome; the last
// call stands. The body stays until its retention ends, whatever the outcome [W6]. ErrNotFound:
// there is none with that delivery id. Other errors: as Ingest; calling it again is safe.
func (l *Ledger) MarkRetried(ctx context.Context, id string, outcome Outcome) error {
	return l.decide(ctx, "recording the retry of quarantined delivery "+id, func(int) error {
		snapshot, err := l.store.Get(ctx, quarantinePath(id))
		if err != nil {
			return err
		}
		doc := snapshot.Documents[0]
		if !doc.Exists() {
			return ErrNotFound
		}
		var q Quarantined
		if err := doc.Decode(&q); err != nil {
			return fmt.Errorf("reading %s: %w", doc.Path, err)
		}
		q.RetriedAt, q.Outcome = snapshot.ReadTime, outcome
		return l.commit(ctx, Write{Path: doc.Path, Token: doc.Token, Data: q})
	})
}
