package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// failedPage bounds how many FAILED items one commit writes: each may hold MaxKeptBytes.
const failedPage = 8

// List returns items of an effect that have an outcome, in the order in which they first had one,
// behind after, at most limit. FAILED ones, and those that were and wait again, may hold MaxKeptBytes
// each. Its cost grows with what it returns. Errors: the store's.
func (l itemsReader) List(
	ctx context.Context, key operation.Key, effect string, after Cursor, limit int,
) (Page[Item], error) {
	return findItems(ctx, l.protocol, queryItems(EffectPath(key, effect), FieldCreatedAt, after, limit), readItem)
}

// Documents returns the documents that an effect wrote of its items to a collection of the user's, in the order of
// List: those of the items behind after, at most limit. An item that is not DONE has none; one that was deleted since
// is among them, and does not exist. next is where to go on; zero: there are no more. Errors: the store's.
func (l itemsReader) Documents(
	ctx context.Context, key operation.Key, effect, collection string, after Cursor, limit int,
) (documents []Document, next Cursor, err error) {
	page, err := l.List(ctx, key, effect, after, limit)
	if err == nil && len(page.Broken) > 0 {
		err = page.Broken[0]
	}
	if err != nil {
		return nil, Cursor{}, err
	}
	var paths []Path
	for _, item := range page.Items {
		if item.State == ItemDone {
			paths = append(paths, ResultPath(collection, key, item.Key))
		}
	}
	if len(paths) == 0 {
		return nil, page.Next, nil
	}
	snapshot, err := l.store.Get(ctx, paths...)
	if err != nil {
		return nil, Cursor{}, fmt.Errorf("reading the items of %s in %s: %w", key, collection, err)
	}
	return snapshot.Documents, page.Next, nil
}

// Waiting returns the items of an effect that are tried again, the one that has waited longest
// first; else as Items. An item that began to wait under number 1 of its effect is not among them.
func (l itemsReader) Waiting(
	ctx context.Context, key operation.Key, effect string, after Cursor, limit int,
) (Page[Item], error) {
	return findItems(ctx, l.protocol, queryItems(EffectPath(key, effect), FieldWaiting, after, limit), readItem)
}

// Failed returns items of an effect that are FAILED, or were and are not DONE since a replay
// returned them: in the order in which they failed, behind after, at most limit. Each may hold
// MaxKeptBytes. Its cost grows with what it returns. Errors: the store's.
func (l itemsReader) Failed(
	ctx context.Context, key operation.Key, effect string, after Cursor, limit int,
) (Page[Item], error) {
	return findItems(ctx, l.protocol, queryItems(EffectPath(key, effect), FieldFailedAt, after, limit), readItem)
}

func findItems[T any](ctx context.Context, l *protocol, q Query, read func(Document) (T, error)) (Page[T], error) {
	return find(ctx, l.store, fmt.Sprintf("finding the items of %s by %s", q.Under, q.OrderBy), q, read)
}

// readItem decodes an item; one that does not exist is the zero Item.
func readItem(d Document) (Item, error) {
	return decode(d, func(item Item) Path { return ItemPath(item.Operation, item.Effect, item.Key) })
}

// keepFailed sets the expiry of the items that Items.Failed returns; zero: they never expire. It
// goes in steps, each a commit; a second call completes one that broke off.
func (l *protocol) keepFailed(ctx context.Context, key operation.Key, effect string, until time.Time) error {
	for more, after := true, (Cursor{}); more; more = after.Path != "" {
		failed := queryItems(EffectPath(key, effect), FieldFailedAt, after, failedPage)
		page, err := findItems(ctx, l, failed, func(doc Document) (Write, error) {
			item, err := readItem(doc)
			if kept := item.ExpireAt.IsZero(); err != nil || kept == until.IsZero() {
				return Write{}, err
			}
			item.Version++
			item.ExpireAt = until
			return Write{Path: doc.Path, Token: doc.Token, Data: item}, nil
		})
		if err != nil {
			return err
		}
		writes := slices.DeleteFunc(page.Items, func(w Write) bool { return w.Data == nil })
		if err := l.commit(ctx, writes...); err != nil {
			return err
		}
		after = page.Next
	}
	return nil
}
