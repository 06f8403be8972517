package items

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A keySet is a set of the keys of items.
type keySet map[operation.KeyHash]struct{}

func (s keySet) add(key string) { s[operation.HashKey(key)] = struct{}{} }

func (s keySet) has(key string) bool {
	_, ok := s[operation.HashKey(key)]
	return ok
}

// triedKeys are the keys of the items that this run or an earlier one has tried: their outcome is
// recorded or held. As long as the order of the result stays the same, it begins with them, and their
// number and digest recognise them.
type triedKeys struct {
	count int64
	sum   operation.KeySum
	all   keySet // nil: the result comes in that order
}

func (t *triedKeys) add(key string) {
	t.count++
	t.sum = t.sum.With(operation.HashKey(key))
	if t.all != nil {
		t.all.add(key)
	}
}

// open opens the result behind the items that were tried. If its first keys are others, it reads the
// tried keys into r.keys.all from the ledger, and opens the result at its beginning. Once r.keys.all is
// set, it always opens it there.
func (r *itemRun) open(ctx context.Context, w Window) (*results.Reader, error) {
	reader, err := r.start(ctx, w)
	if err != nil || r.keys.all != nil {
		return reader, err
	}
	err = reader.Skip(r.keys.count)
	if err == nil && reader.Tally().Sum == r.keys.sum {
		return reader, nil
	}
	_ = reader.Close() // it is read again
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, brokenDownload{err}
	}
	r.Log.WarnContext(ctx,
		"the result does not begin with the items tried before; they are recognised by their keys",
		"operation", r.task.Operation, "effect", r.task.Effect, "tried", r.keys.count)
	if err := r.flush(ctx); err != nil {
		return nil, err
	}
	if err := r.recall(w.Context); err != nil {
		return nil, err
	}
	return r.start(ctx, w)
}

// start opens the result at its beginning.
func (r *itemRun) start(_ context.Context, w Window) (*results.Reader, error) {
	reader, err := r.Results.Open(w.Context, r.completion.Operation, operation.Result(r.completion.Result))
	if err != nil {
		return nil, err
	}
	if r.ByPosition {
		reader.ByPosition()
	}
	return reader, nil
}

// The bounds of a page of items, whose size in bytes is not known before it is read.
const (
	minItemPage = 8
	maxItemPage = 300
)

// recall reads from the ledger which items have an outcome: a document for each. It is not needed while
// the order of the result stays the same.
func (r *itemRun) recall(ctx context.Context) error {
	keys := triedKeys{all: keySet{}}
	for limit, after := minItemPage, (ledger.Cursor{}); ; {
		page, err := r.Ledger.Items.List(ctx, r.task.Operation, r.task.Effect, after, limit)
		if err != nil {
			return err
		}
		if len(page.Broken) > 0 {
			return page.Broken[0]
		}
		for _, item := range page.Items {
			keys.add(item.Key)
			if item.State == ledger.ItemPending && item.WaitingSince.IsZero() {
				r.older.add(item.Key)
			}
		}
		if limit, after = nextLimit(limit, maxItemPage, page.Items), page.Next; after.Path == "" {
			break
		}
	}
	if keys.count != r.at.Next {
		return effect.Permanent(fmt.Errorf("the result comes in another order than before, and the ledger has only %d of "+
			"the %d items that were tried: the others have expired, so nothing more is performed; submit the items that the "+
			"receiver lacks again", keys.count, r.at.Next))
	}
	r.keys, r.at.Keys = keys, keys.sum.String()
	return nil
}

// longestWaiting returns the keys of at most most items that failed in an earlier run and were not
// tried in this one, the longest waiting first.
func (r *itemRun) longestWaiting(ctx context.Context, most int) (keySet, error) {
	waiting := keySet{}
	for limit, after := minItemPage, (ledger.Cursor{}); len(waiting) < most; {
		page, err := r.Ledger.Items.Waiting(ctx, r.task.Operation, r.task.Effect, after, limit)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			if !r.failed.has(item.Key) {
				waiting.add(item.Key)
			}
		}
		for _, broken := range page.Broken {
			r.last, r.cause = broken, broken
		}
		if limit, after = nextLimit(limit, maxItemPage, page.Items), page.Next; after.Path == "" {
			break
		}
	}
	for key := range r.older {
		waiting[key] = struct{}{}
	}
	return waiting, nil
}

// differs logs that a result, read to its end, is not the one of an earlier run.
func (r *itemRun) differs(ctx context.Context, gone int64, read results.Tally) {
	if gone == 0 && (r.began.Length == 0 || r.began.Length == read.Keys) {
		return
	}
	r.Log.WarnContext(ctx, "the result is not the one that was read before; its items are recognised by their keys",
		"operation", r.task.Operation, "effect", r.task.Effect, "items", read.Items, "gone", gone,
		"before", r.began.Length)
}

// nextLimit returns how many items to read after a page with this limit: more if they are small, at
// most most, and fewer if they are large.
func nextLimit(limit, most int, page []ledger.Item) int {
	size := 0
	for _, item := range page {
		size += len(item.Response) + len(item.Error)
	}
	if size > maxChunkBytes/2 {
		return max(limit/2, minItemPage)
	}
	return min(2*limit, most)
}
