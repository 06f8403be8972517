package reconcile

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/opledger/opledger/shared/ledger"
)

const (
	pageSize = 100
	// concurrency is how many items are worked on at once that only the ledger bounds.
	concurrency = 8
)

// A window bounds how many items are worked on at once. size is asked at each item.
type window struct {
	size    func() int
	mu      sync.Mutex
	running int
	left    chan struct{} // holds a value after an item has left
}

func newWindow(size func() int) *window { return &window{size: size, left: make(chan struct{}, 1)} }

// few is the size of a window that only the ledger bounds.
func few() int { return concurrency }

// enter waits until one more item may be worked on. One caller enters at a time. The error is why ctx ended.
func (w *window) enter(ctx context.Context) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if w.begin() {
			return nil
		}
		select {
		case <-w.left:
		case <-ctx.Done():
		}
	}
}

func (w *window) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running >= w.size() {
		return false
	}
	w.running++
	return true
}

func (w *window) leave() {
	w.mu.Lock()
	w.running--
	w.mu.Unlock()
	select {
	case w.left <- struct{}{}:
	default:
	}
}

// A finder finds a page of the documents that were due at a pass's start.
type finder[T any] func(
	ctx context.Context, passStart time.Time, after ledger.Cursor, limit int,
) (ledger.Page[T], error)

// behind returns find, which begins behind what has ended of a collection, and says what it found first.
// Without the look-ups of a pass it begins at the beginning.
func behind[T any](k *ledger.Lookups, collection string, find finder[T]) finder[T] {
	if k == nil {
		return find
	}
	return func(ctx context.Context, passStart time.Time, after ledger.Cursor, limit int) (ledger.Page[T], error) {
		if after.Path != "" {
			return find(ctx, passStart, after, limit)
		}
		page, err := find(ctx, passStart, k.ScanFrom(collection), limit)
		if err == nil {
			k.Scanned(collection, page.First)
		}
		return page, err
	}
}

// each calls do for every item that was due at passStart, as many at once as w allows. It reads the next
// page while it works on one, and waits for no page to end. Where before is not nil, each page is given
// to it first. It stops where ctx ends, or at the end of a page after do returned an error, and counts
// that as more to do. It returns an error, which it counts too, only where the first page could not be
// read.
func each[T any](
	ctx context.Context, count *counter, w *window, passStart time.Time,
	find finder[T], before func([]T), do func(T) error,
) error {
	read := func(after ledger.Cursor) (ledger.Page[T], error) {
		page, err := find(ctx, passStart, after, pageSize)
		if err != nil {
			count.fail(ctx, "reading the due documents", err)
			count.more()
			return page, err
		}
		for _, err := range page.Broken {
			count.fail(ctx, "reading a record", err)
		}
		if before != nil {
			before(page.Items)
		}
		return page, nil
	}
	page, err := read(ledger.Cursor{})
	if err != nil {
		return err
	}
	var items, ahead errgroup.Group
	var stopped atomic.Bool
	for {
		var next ledger.Page[T]
		last := page.Next.Path == ""
		if !last {
			ahead.Go(func() (err error) {
				next, err = read(page.Next)
				return err
			})
		}
		for _, item := range page.Items {
			if w.enter(ctx) != nil {
				count.more()
				stopped.Store(true)
				break
			}
			items.Go(func() error {
				defer w.leave()
				err := do(item)
				if err != nil {
					stopped.Store(true)
				}
				return err
			})
		}
		if err := ahead.Wait(); err != nil || last || stopped.Load() {
			break // what read says was counted
		}
		page = next
	}
	if items.Wait() != nil {
		count.more()
	}
	return nil
}

// concurrently makes calls, some at once. The error is why ctx ended before all began, which is counted as
// more to do.
func concurrently(ctx context.Context, count *counter, calls []func()) error {
	var group errgroup.Group
	group.SetLimit(concurrency)
	for _, call := range calls {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			call()
			return nil
		})
	}
	err := group.Wait()
	if err != nil {
		count.more()
	}
	return err
}
