package items

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// maxAtOnce is how many items of one effect are performed at the same time.
const maxAtOnce = 8

// performAll performs the effect for items. It returns the outcomes up to the first item that was
// not performed because the time ended.
func (r *itemRun) performAll(w Window, items []results.Item) []ledger.ItemOutcome {
	outcomes := make([]*ledger.ItemOutcome, len(items))
	var next atomic.Int64 // items start in order, so that few follow one that was not performed
	var group sync.WaitGroup
	for range min(maxAtOnce, len(items)) {
		group.Go(func() {
			for !w.Closing() {
				i := int(next.Add(1)) - 1
				if i >= len(items) {
					return
				}
				outcomes[i] = r.perform(w, items[i])
			}
		})
	}
	group.Wait()
	var performed []ledger.ItemOutcome
	for _, o := range outcomes {
		if o == nil {
			break
		}
		performed = append(performed, *o)
	}
	return performed
}

// perform performs the effect for one item. It returns nil if it was interrupted, which proves
// nothing about the item.
func (r *itemRun) perform(w Window, item results.Item) (o *ledger.ItemOutcome) {
	o = &ledger.ItemOutcome{Index: item.Index, Key: item.Key}
	if len(item.Response)+len(item.Error) <= ledger.MaxKeptBytes {
		o.Response, o.Error = item.Response, item.Error
	}
	defer func() {
		if p := recover(); p != nil {
			o.Err = fmt.Errorf("the handler panicked: %v", p)
		}
		if o.Err != nil && w.Over() {
			o = nil
		}
	}()
	task := effect.Task{Lease: r.task.Lease, Item: &item}
	task.IdempotencyKey = operation.ItemIdempotencyKey(task.Operation, task.Effect, item.Key)
	if task.Payload, o.Err = r.payload.of(item, task.IdempotencyKey); o.Err != nil {
		o.Permanent = true
		return o
	}
	o.ExtraWrites, o.Err = r.one.Perform(w.Context, task)
	o.Permanent = effect.IsPermanent(o.Err)
	return o
}
