package items

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
func (r *itemRun) returned(ctx context.Context, w Window) error {
	kept := keptItems{run: r, ctx: w.Context, limit: minItemPage}
	all := func(results.Item) bool { return true }
	for r.at.Returned > 0 || r.at.ReturnedFence > 0 && r.waited > 0 {
		if err := r.walk(ctx, w, pass{from: &kept, wanted: all, known: true}); err != nil {
			return err
		}
		if len(kept.large) == 0 {
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
		outcomes[i] = ledger.ItemOutcome{Index: item.Index, Key: item.Key, Known: true, Untried: true}
	}
	r.waited += int64(len(large))
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
			page, err := k.run.Ledger.Items.Failed(k.ctx, k.run.task.Operation, k.run.task.Effect, k.after, k.limit)
			if err != nil {
				return results.Item{}, err
			}
			k.limit = nextLimit(k.limit, maxKeptPage, page.Items)
			for _, broken := range page.Broken {
				k.run.last, k.run.cause = broken, broken
			}
			k.page, k.after, k.ended = page.Items, page.Next, page.Next.Path == ""
		}
		item := k.page[0]
		k.page = k.page[1:]
		returned := item.State == ledger.ItemFailed && item.Fence <= k.run.at.ReturnedFence
		waits := item.State == ledger.ItemPending && item.Fence < k.run.task.Fence
		kept := item.Response != "" || item.Error != ""
		switch {
		case k.run.failed.has(item.Key):
		case kept && (returned || waits):
			if returned {
				k.run.waited++ // like the others, until it is tried
			}
			return results.Item{Index: item.Index, Key: item.Key, Response: rawOf(item.Response), Error: rawOf(item.Error)}, nil
		case returned:
			k.large = append(k.large, item)
		}
	}
	return results.Item{}, io.EOF
}

// maxKeptPage bounds a page of items that may be large, as minItemPage does.
const maxKeptPage = 64

// rawOf returns JSON as it was kept; nil if there is none.
func rawOf(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}
