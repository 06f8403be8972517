package ledger

import (
	"context"
	"fmt"
	"time"
)

// CountCeiling bounds every count. Firestore charges one read for each 1,000 documents that it
// counts, so a count costs ten reads at most.
const CountCeiling = 10_000

// A Total is a count of documents.
type Total struct {
	N    int  `json:"count"`
	More bool `json:"more,omitempty"` // there are more than N, which is CountCeiling
}

// String returns the count as pages and commands print it, such as "4,321" or "10,000+".
func (t Total) String() string {
	text := fmt.Sprint(t.N)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	if t.More {
		text += "+"
	}
	return text
}

// Plus returns the sum of two counts.
func (t Total) Plus(other Total) Total {
	n := t.N + other.N
	return Total{N: min(n, CountCeiling), More: t.More || other.More || n > CountCeiling}
}

// count counts what queries find together.
func (l *protocol) count(ctx context.Context, what string, queries ...Query) (Total, error) {
	var total Total
	for _, q := range queries {
		n, err := l.store.Count(ctx, q, CountCeiling+1)
		if err != nil {
			return Total{}, fmt.Errorf("counting %s: %w", what, err)
		}
		total = total.Plus(Total{N: n})
	}
	return total, nil
}

// CountOpen counts the open effects, due or not. Errors: the store's.
func (l effectsReader) CountOpen(ctx context.Context) (Total, error) {
	return l.count(ctx, "open effects", queryOpen(EffectsCollection, Cursor{}, 1))
}

// CountRunning counts the effects that a worker has claimed, also past their lease. Errors:
// the store's.
func (l effectsReader) CountRunning(ctx context.Context) (Total, error) {
	return l.count(ctx, "running effects", queryRunning(Cursor{}, 1))
}

// CountFailing counts what Effects.Failing finds, in all its pages, and at most what an older
// revision has reopened since [L5]. Errors: the store's.
func (l effectsReader) CountFailing(ctx context.Context, before time.Time) (Total, error) {
	return l.count(ctx, "failing effects", queryFailing(before, Cursor{}, 1)...)
}

// CountWaiting counts what Intents.Waiting finds. Errors: the store's.
func (l intentsReader) CountWaiting(ctx context.Context) (Total, error) {
	return l.count(ctx, "intents", queryOpen(IntentsCollection, Cursor{}, 1))
}

// Count counts what Quarantine.List finds, in all its pages. The count of Unresolved ones is an
// upper bound: an older revision may have ingested some since [L5]. Errors: the store's.
func (l quarantineReader) Count(ctx context.Context, f QuarantineFilter) (Total, error) {
	return l.count(ctx, "the quarantine", queryQuarantined(f))
}
