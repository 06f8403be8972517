package reconcile

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/opledger/opledger/shared/ledger"
)

const (
	pageSize    = 100
	concurrency = 8
)

// each finds what was due at passStart, page by page, and does everything on a page with bounded concurrency, after prepare
// has seen the page (nil: there is nothing to prepare). It stops where ctx ends, or behind the page on which do returned an
// error, and counts that as more to do. Its own error, which is counted too, means that not even the first page could be read.
func each[T any](
	ctx context.Context, count *counter, passStart time.Time,
	find func(context.Context, time.Time, ledger.Cursor, int) (ledger.Page[T], error),
	prepare func([]T), do func(T) error,
) error {
	var after ledger.Cursor
	for {
		page, err := find(ctx, passStart, after, pageSize)
		if err != nil {
			count.fail(ctx, "reading what is due", err)
			count.more()
			if after.Path == "" {
				return err
			}
			return nil
		}
		for _, err := range page.Broken {
			count.fail(ctx, "reading a record", err)
		}
		if prepare != nil {
			prepare(page.Items)
		}
		after = page.Next
		if err := atOnce(ctx, count, page.Items, do); err != nil || after.Path == "" {
			return nil
		}
	}
}

// atOnce does everything in items with bounded concurrency. The error is ctx's where that ends first, or one of do, which keeps
// nobody from the other items; either way there is more to do, and counted so.
func atOnce[T any](ctx context.Context, count *counter, items []T, do func(T) error) error {
	var group errgroup.Group
	group.SetLimit(concurrency)
	for _, item := range items {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return do(item)
		})
	}
	err := group.Wait()
	if err != nil {
		count.more()
	}
	return err
}
