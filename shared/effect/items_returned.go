package effect

import (
	"context"
	"encoding/json"
	"io"

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
)

// returned performs the effect for the items that a replay made wait again, in this run or an
// earlier one, from what the ledger keeps of them: Gemini may have deleted the result. Items that
// were too large to be kept wait for the download.
func (r *itemRun) returned(ctx context.Context, w window) error {
	kept := keptItems{run: r, ctx: w.ctx, limit: minKeptPage}
	all, never := func(int64) bool { return true }, func() bool { return false }
	for r.at.Returned > 0 || r.at.ReturnedFence > 0 && len(r.waited) > 0 {
		if err := r.walk(ctx, w, &kept, all, never, func(int) {}); err != nil {
			return err
		}
		if len(kept.large) == 0 || r.crowded() {
			return nil
		}
		if err := r.await(ctx, kept.large); err != nil {
			return err
		}
		kept.large = nil
	}
	return nil
}

// await makes items wait that are not kept.
func (r *itemRun) await(ctx context.Context, large []ledger.Item) error {
	outcomes := make([]ledger.ItemOutcome, len(large))
	for i, item := range large {
		outcomes[i] = ledger.ItemOutcome{Index: item.Index, Key: item.Key, Untried: true}
		r.waited = r.waited.With(item.Index)
	}
	return r.record(ctx, outcomes)
}

// keptItems is a source of the items that a replay returned.
type keptItems struct {
	run   *itemRun
	ctx   context.Context //nolint:containedctx // of the source, as a download has one
	page  []ledger.Item
	after ledger.Cursor
	limit int // of the next page
	ended bool
	large []ledger.Item // those that were skipped because they are not kept
}

// Next returns the next item that is kept. io.EOF: there is none, or as many were skipped as one
// chunk may hold.
func (k *keptItems) Next() (results.Item, error) {
	for len(k.large) < maxChunkItems {
		for len(k.page) == 0 {
			if k.ended {
				return results.Item{}, io.EOF
			}
			page, err := k.run.Ledger.FailedItems(k.ctx, k.run.task.Operation, k.run.task.Effect, k.after, k.limit)
			if err != nil {
				return results.Item{}, err
			}
			k.limit = nextLimit(k.limit, page.Items)
			for _, broken := range page.Broken {
				k.run.last, k.run.cause = broken, broken
			}
			k.page, k.after, k.ended = page.Items, page.Next, page.Next.Path == ""
		}
		item := k.page[0]
		k.page = k.page[1:]
		returned := item.State == ledger.ItemFailed && item.Fence <= k.run.at.ReturnedFence
		kept := item.Response != "" || item.Error != ""
		switch {
		case kept && (returned || k.run.waited.Has(item.Index)):
			return results.Item{Index: item.Index, Key: item.Key, Response: rawOf(item.Response), Error: rawOf(item.Error)}, nil
		case returned:
			k.large = append(k.large, item)
		}
	}
	return results.Item{}, io.EOF
}

// The bounds of a page of kept items, whose size in bytes is not known before it is read.
const (
	minKeptPage = 8
	maxKeptPage = 64
)

// nextLimit returns how many items to read after a page with this limit: more if they are small,
// fewer if they are large.
func nextLimit(limit int, page []ledger.Item) int {
	size := 0
	for _, item := range page {
		size += len(item.Response) + len(item.Error)
	}
	if size > maxChunkBytes/2 {
		return max(limit/2, minKeptPage)
	}
	return min(2*limit, maxKeptPage)
}

// rawOf returns JSON as it was kept; nil if there is none.
func rawOf(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}
