package ledgertest

import (
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// named are successes of the items from first on, as many as keys.
func named(first int64, keys ...string) []ledger.ItemOutcome {
	all := make([]ledger.ItemOutcome, len(keys))
	for i, key := range keys {
		all[i] = ledger.ItemOutcome{Index: first + int64(i), Key: key}
	}
	return all
}

// numbered are the successes of the n items from first on.
func numbered(first, n int64) []ledger.ItemOutcome {
	all := make([]ledger.ItemOutcome, n)
	for i := range all {
		all[i] = ledger.ItemOutcome{Index: first + int64(i), Key: fmt.Sprintf("item-%d", first+int64(i))}
	}
	return all
}

// recordItems records items without an error, long enough after the last time for the record to be
// updated.
func (w *world) recordItems(
	lease ledger.Lease, at ledger.ItemProgress, outcomes []ledger.ItemOutcome,
) ledger.ItemProgress {
	w.Helper()
	w.store.Advance(time.Second)
	next, err := w.ledger().Items.Record(w.ctx, lease, at, outcomes)
	if err != nil {
		w.Fatalf("Items.Record: %v", err)
	}
	return next
}

// known are outcomes of items that have one already.
func known(outcomes ...ledger.ItemOutcome) []ledger.ItemOutcome {
	for i := range outcomes {
		outcomes[i].Known = true
	}
	return outcomes
}

// waiting returns the keys of the items that are tried again, in the order of their waiting.
func (w *world) waiting() (keys []string) {
	w.Helper()
	var after ledger.Cursor
	for {
		page, err := w.ledger().Items.Waiting(w.ctx, w.name.Key, publish, after, 2)
		if err != nil || len(page.Broken) > 0 {
			w.Fatal(page.Broken, err)
		}
		for _, item := range page.Items {
			keys = append(keys, item.Key)
		}
		if after = page.Next; after.Path == "" {
			return keys
		}
	}
}

// item returns one item of the effect "publish"; the zero Item where there is none.
func (w *world) item(key string) ledger.Item {
	w.Helper()
	return read[ledger.Item](w, ledger.ItemPath(w.name.Key, publish, key))
}

// items returns how many items of the effect "publish" have a document.
func (w *world) items() int {
	w.Helper()
	found, err := w.store.Query(w.ctx, ledger.Query{
		Collection: ledger.ItemsCollection, Under: ledger.EffectPath(w.name.Key, publish),
		OrderBy: ledger.FieldCreatedAt, Limit: 1000,
	})
	if err != nil {
		w.Fatal(err)
	}
	return len(found)
}

// stands checks the items' progress, in the effect and in the record.
func (w *world) stands(what, want string) {
	w.Helper()
	var p ledger.ItemProgress
	if e := w.effect(publish); e.Progress != nil {
		p = *e.Progress
	}
	equal(
		w, what, fmt.Sprintf("done %d failed %d of %d, next %d, waiting %v", p.Done, p.Failed, p.Total, p.Next, w.waiting()),
		want,
	)
	equal(w, what+": items that wait", p.Waiting(), int64(len(w.waiting())))
	equal(
		w, what+": the record", w.record().Progress[publish],
		operation.Progress{Done: p.Done, Failed: p.Failed, Total: p.Total},
	)
}
