package effect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/results"
)

// What is held of a result at a time: the items of one chunk.
const (
	maxChunkItems = 100
	maxChunkBytes = 4 << 20
)

// A brokenDownload is an error of the download, not of an item.
type brokenDownload struct{ error }

func (e brokenDownload) Unwrap() error { return e.error }

// pass reads the result once, from the first item that has not come to its end, and performs the effect for those that have not.
func (r *itemRun) pass(ctx context.Context, w window, completion ledger.Payload) error {
	reader, err := r.Results.Open(w.ctx, completion.Operation, completion.Result)
	if err != nil {
		return err
	}
	defer reader.Close()              //nolint:errcheck // what was read of it is known
	from := max(r.at.From(), r.tried) // what failed in this run waits for another
	if err := reader.SkipTo(from); err != nil {
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("the result ends before item %d, where the effect goes on", from)
		}
		return brokenDownload{err}
	}
	for {
		if w.closing() {
			return errContinue
		}
		items, err := chunkOf(reader, r.at.Wanted)
		ended := errors.Is(err, io.EOF)
		if len(items) > 0 { // also what came before the download broke
			if err := r.chunk(ctx, w, items); err != nil {
				return err
			}
		}
		switch {
		case ended:
			return r.whole(ctx)
		case err != nil:
			return brokenDownload{err}
		case len(r.at.Waiting) > maxWaiting:
			return RetryAfter(fmt.Errorf("%d items failed: %w", len(r.at.Waiting), r.cause), r.wish)
		}
	}
}

// whole notes how many items there are, where nobody said so before.
func (r *itemRun) whole(ctx context.Context) error {
	if r.at.Total != 0 || r.at.Next == 0 {
		return nil
	}
	r.at.Total = r.at.Next
	return r.commit(ctx, nil)
}

// chunkOf reads the next items that are wanted. The error is the reader's, beside what was read before.
func chunkOf(reader *results.Reader, wanted func(index int64) bool) ([]results.Item, error) {
	var items []results.Item
	for size := 0; len(items) < maxChunkItems && size < maxChunkBytes; {
		item, err := reader.Next()
		if err != nil {
			return items, err
		}
		if wanted(item.Index) {
			items = append(items, item)
			size += len(item.Response) + len(item.Error)
		}
	}
	return items, nil
}

// chunk performs the effect for some items and records what came of it, as far as the time allows.
func (r *itemRun) chunk(ctx context.Context, w window, items []results.Item) error {
	outcomes := r.performAll(w, items)
	ended := false
	for _, o := range outcomes {
		if ended = ended || o.Err == nil || o.Permanent; o.Err != nil && !o.Permanent {
			r.cause, r.wish = fmt.Errorf("item %s: %w", o.Key, o.Err), max(r.wish, retryAfter(o.Err))
		}
	}
	if err := r.record(ctx, outcomes); err != nil {
		return err
	}
	const telling = 10 // so many items in a row are not bad by themselves
	switch {
	case len(outcomes) < len(items):
		return errContinue
	case !ended && len(outcomes) >= telling:
		return RetryAfter(fmt.Errorf("%d items in a row failed; the last: %w", len(outcomes), r.cause), r.wish)
	}
	return nil
}

// A window is the time that a run has for its items, within what its caller has.
type window struct {
	ctx  context.Context //nolint:containedctx // what the items are performed under; it ends before the caller's
	last time.Time       // nothing is begun afterwards; zero: there is no such time
}

// maxReserve is kept of the caller's time to record what was done, and to hand on the rest; and once more for what was begun.
const maxReserve = recordTimeout

// windowOf returns the window within ctx, and what lets go of it.
func windowOf(ctx context.Context) (window, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return window{ctx: ctx}, func() {}
	}
	reserve := min(maxReserve, time.Until(deadline)/4)
	within, cancel := context.WithDeadline(ctx, deadline.Add(-reserve))
	return window{ctx: within, last: deadline.Add(-2 * reserve)}, cancel
}

// closing reports whether nothing more should be begun.
func (w window) closing() bool {
	return w.over() || !w.last.IsZero() && !time.Now().Before(w.last)
}

func (w window) over() bool { return w.ctx.Err() != nil }
