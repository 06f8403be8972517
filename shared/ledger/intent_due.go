package ledger

import (
	"context"
	"time"
)

// A DueIntent is a waiting intent, as a pass of reconciliation found it.
type DueIntent struct {
	Intent Intent
	doc    Document
}

// Due returns waiting intents that are due, at most limit, behind after: those that are to
// be given up, and those whose operation is to be searched for.
func (l Intents) Due(ctx context.Context, now time.Time, after Cursor, limit int) (Page[DueIntent], error) {
	return find(ctx, l.store, "finding due intents", queryDue(IntentsCollection, now, after, limit), readDueIntent)
}

// Waiting returns the waiting intents that are still searched for, due or not, at most
// limit, behind after, in due order.
func (l intentsReader) Waiting(ctx context.Context, after Cursor, limit int) (Page[DueIntent], error) {
	return find(ctx, l.store, "finding due intents", queryOpen(IntentsCollection, after, limit), readDueIntent)
}

func readDueIntent(doc Document) (DueIntent, error) {
	intent, err := readIntent(doc)
	return DueIntent{Intent: intent, doc: doc}, err
}
