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

// FailedItems returns items of an effect that are FAILED, or were and are not DONE since a replay
// returned them: in the order in which they failed, behind after, at most limit. Each may hold
// MaxKeptBytes. Its cost grows with what it returns. Errors: the store's.
func (l *Ledger) FailedItems(
	ctx context.Context, key operation.Key, effect string, after Cursor, limit int,
) (Page[Item], error) {
	return failedItems(ctx, l, key, effect, after, limit, readItem)
}

func failedItems[T any](
	ctx context.Context, l *Ledger, key operation.Key, effect string, after Cursor, limit int,
	read func(Document) (T, error),
) (Page[T], error) {
	page, err := find(ctx, l.store, queryFailed(EffectPath(key, effect), after, limit), read)
	if err != nil {
		return page, fmt.Errorf("finding the failed items of effect %s of %s: %w", effect, key, err)
	}
	return page, nil
}

// readItem decodes an item; one that does not exist is the zero Item.
func readItem(d Document) (Item, error) {
	return decode(d, func(item Item) Path { return ItemPath(item.Operation, item.Effect, item.Key) })
}

// keepFailed sets the expiry of the items that FailedItems returns; zero: they never expire. It
// goes in steps, each a commit; a second call completes one that broke off.
func (l *Ledger) keepFailed(ctx context.Context, key operation.Key, effect string, until time.Time) error {
	for more, after := true, (Cursor{}); more; more = after.Path != "" {
		page, err := failedItems(ctx, l, key, effect, after, failedPage, func(doc Document) (Write, error) {
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
		if len(writes) > 0 {
			if err := l.commit(ctx, writes...); err != nil {
				return err
			}
		}
		after = page.Next
	}
	return nil
}
