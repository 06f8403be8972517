package effect

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// The bounds on what is held of a result at a time: the items of one chunk. After a chunk in which
// no item was finished, only maxProbes chunks of probeItems are tried. If they fail too, the items
// are not the cause.
const (
	maxChunkItems = 100
	maxChunkBytes = 4 << 20
	probeItems    = 10
	maxProbes     = 5
)

// maxWaiting is the number of ranges of waiting items above which a run tries these first. All of
// them are in the effect's document.
const maxWaiting = 1000

func (r *itemRun) crowded() bool { return len(r.at.Waiting) >= maxWaiting }

// A brokenDownload is an error of the download, not of an item.
type brokenDownload struct{ error }

func (e brokenDownload) Unwrap() error { return e.error }

// errStuck ends a pass in which chunk after chunk failed.
var errStuck = errors.New("nothing succeeds")

// A source returns items one after the other, and io.EOF after the last.
type source interface {
	Next() (results.Item, error)
}

// untried performs the effect for the items that no run has tried, from a download that is resumed
// if it breaks off.
func (r *itemRun) untried(ctx context.Context, w window) error {
	for !r.whole && !r.crowded() {
		began := r.next
		err := r.download(w, r.next, func(reader *results.Reader) error {
			all := func(int64) bool { return true }
			return r.walk(ctx, w, reader, all, r.crowded, func(n int) {
				r.whole, r.at.Length = true, r.next+int64(n)
				if r.at.Total == 0 {
					r.at.Total = r.at.Length
				}
			})
		})
		var broken brokenDownload
		if again := errors.As(err, &broken) && r.next > began && !w.over(); !again {
			return err
		}
	}
	return nil
}

// again performs the effect for the items that failed in an earlier run. If more wait than a
// failing run would try, each run begins elsewhere among them, so that all are tried in the end.
func (r *itemRun) again(ctx context.Context, w window) error {
	start := int64(0)
	if count, vain := r.waited.Count(), int64(max(r.task.Attempt-2, 0)); count > maxChunkItems {
		start = r.waited.Nth(vain * maxChunkItems % count)
	}
	for {
		from, some := r.waited.From(start)
		if !some {
			if start == 0 {
				return nil
			}
			start = 0
			continue
		}
		before := r.waited.Count()
		err := r.download(w, from, func(reader *results.Reader) error {
			wanted := func(index int64) bool { return r.waited.Has(index) }
			none := func() bool { _, some := r.waited.From(start); return !some }
			return r.walk(ctx, w, reader, wanted, none, func(int) {})
		})
		if _, some := r.waited.From(start); err == nil && some {
			return fmt.Errorf("the result ends before items that failed before, the last of %d", r.at.Length)
		}
		var broken brokenDownload
		if again := errors.As(err, &broken) && r.waited.Count() < before && !w.over(); err != nil && !again {
			return err
		}
	}
}

// download opens the result and skips the items before from.
func (r *itemRun) download(w window, from int64, read func(*results.Reader) error) error {
	reader, err := r.Results.Open(w.ctx, r.completion.Operation, operation.Result(r.completion.Result))
	if err != nil {
		return err
	}
	defer reader.Close() //nolint:errcheck // what was read of it is known
	switch err := reader.SkipTo(from); {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the result ends before item %d, where the effect continues", from)
	case err != nil:
		return brokenDownload{err}
	}
	return read(reader)
}

// walk performs the effect for the wanted items of a source, chunk by chunk: to its end, until
// enough reports true, or until it is stuck. At the end it calls ended with the number of items in
// the last chunk, before these are performed.
func (r *itemRun) walk(
	ctx context.Context, w window, from source, wanted func(int64) bool, enough func() bool, ended func(n int),
) error {
	most := r.inVain + maxProbes
	for !enough() {
		if w.closing() {
			return errContinue
		}
		limit, bytes := maxChunkItems, maxChunkBytes
		if r.inVain > 0 {
			limit, bytes = probeItems, maxChunkBytes/maxChunkItems*probeItems
		}
		items, err := chunkOf(from, wanted, limit, bytes)
		if errors.Is(err, io.EOF) {
			ended(len(items))
		}
		if len(items) > 0 { // also what came before the download broke
			if err := r.chunk(ctx, w, items); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return brokenDownload{err}
		case r.inVain > most:
			return errStuck
		}
	}
	return nil
}

// chunkOf reads the next wanted items. It returns those that it read before an error, too.
func chunkOf(from source, wanted func(index int64) bool, limit, bytes int) ([]results.Item, error) {
	var items []results.Item
	for size := 0; len(items) < limit && size < bytes; {
		item, err := from.Next()
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

// chunk performs the effect for some items and records the outcomes. Failures are held back until
// something in the run succeeds, or until its end. A failure while everything fails proves nothing
// about the item.
func (r *itemRun) chunk(ctx context.Context, w window, items []results.Item) error {
	outcomes := r.performAll(w, items)
	advanced := false
	for _, o := range outcomes {
		r.next = max(r.next, o.Index+1)
		r.waited = r.waited.Without(o.Index)
		r.succeeded = r.succeeded || o.Err == nil
		advanced = advanced || o.Err == nil || o.Permanent
		r.noteFailure(o)
	}
	r.held = append(r.held, outcomes...)
	if advanced || r.succeeded {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	r.advanced = r.advanced || advanced
	switch {
	case len(outcomes) < len(items):
		return errContinue
	case advanced:
		r.inVain = 0
	default:
		r.inVain++
	}
	return nil
}

// noteFailure keeps why an item failed, if it did.
func (r *itemRun) noteFailure(o ledger.ItemOutcome) {
	if o.Err == nil {
		return
	}
	r.last = fmt.Errorf("item %s: %w", o.Key, o.Err)
	if !o.Permanent {
		r.cause, r.wish = r.last, max(r.wish, retryAfter(o.Err))
	}
}

// flush records what is held.
func (r *itemRun) flush(ctx context.Context) error {
	held := r.held
	r.held = nil
	for i := range held {
		held[i].Counts = r.succeeded
	}
	return r.record(ctx, held)
}
