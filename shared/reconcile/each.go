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

// each calls do for every item that was due at passStart, page by page and with bounded
// concurrency. Where before is not nil, each page is given to it first. It stops where ctx ends, or
// after a page on which do returned an error, and counts that as more to do. It returns an error,
// which it counts too, only where the first page could not be read.
func each[T any](
	ctx context.Context, count *counter, passStart time.Time,
	find func(context.Context, time.Time, ledger.Cursor, int) (ledger.Page[T], error),
	before func([]T), do func(T) error,
) error {
	var after ledger.Cursor
	for {
		page, err := find(ctx, passStart, after, pageSize)
		if err != nil {
			count.fail(ctx, "reading the due documents", err)
			count.more()
			if after.Path == "" {
				return err
			}
			return nil
		}
		for _, err := range page.Broken {
			count.fail(ctx, "reading a record", err)
		}
		if before != nil {
			before(page.Items)
		}
		after = page.Next
		if err := concurrently(ctx, count, page.Items, do); err != nil || after.Path == "" {
			return nil
		}
	}
}

// concurrently calls do for each item with bounded concurrency. The error is ctx's or one of do. An
// error of do does not stop the other items. Either is counted as more to do.
func concurrently[T any](ctx context.Context, count *counter, items []T, do func(T) error) error {
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
