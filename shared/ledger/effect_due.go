package ledger

import (
	"context"
	"time"
)

// A DueEffect is a side effect that could be run and that no worker runs.
type DueEffect struct {
	Effect Effect
	doc    Document
}

// Due returns side effects that are due, at most limit, behind after, whatever the state of
// their operation [R5].
func (l Effects) Due(ctx context.Context, now time.Time, after Cursor, limit int) (Page[DueEffect], error) {
	return find(ctx, l.store, "finding due effects", queryDue(EffectsCollection, now, after, limit), readDueEffect)
}

// Open returns open effects, due or not, at most limit, behind after, in due order.
func (l effectsReader) Open(ctx context.Context, after Cursor, limit int) (Page[DueEffect], error) {
	return find(ctx, l.store, "finding due effects", queryOpen(EffectsCollection, after, limit), readDueEffect)
}

func readDueEffect(doc Document) (DueEffect, error) {
	effect, err := readEffect(doc)
	return DueEffect{Effect: effect, doc: doc}, err
}
