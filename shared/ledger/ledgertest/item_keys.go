package ledgertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// itemKeys: progress belongs to keys, in whatever order items are recorded.
var itemKeys = []ledgerTest{
	{"the digest of what has an outcome does not depend on the order of the items [K4]", func(w *world) {
		w.settings.Rules = append(w.settings.Rules, ledger.Rule{
			Name: "other", On: []operation.State{operation.Succeeded},
		})
		w.register()
		w.ingest(w.event("d1", operation.Succeeded, time.Second))
		lease := w.granted(publish)
		chunk := numbered(0, 6)
		chunk[4].Err, chunk[5].Err, chunk[5].Permanent = errFailed, errFailed, true
		at := w.recordItems(lease, lease.Progress, chunk[:2])
		at = w.recordItems(lease, at, chunk[2:])
		other := w.granted("other")
		slices.Reverse(chunk)
		reversed, err := w.ledger().Items.Record(w.ctx, other, other.Progress, chunk)
		if err != nil {
			w.Fatal(err)
		}
		equal(w, "backwards", reversed.Keys, at.Keys)
		var sum operation.KeySum
		for _, o := range chunk {
			sum = sum.With(operation.HashKey(o.Key))
		}
		equal(w, "the digest", at.Keys, sum.String())
		again := w.recordItems(lease, at, known(chunk[1]))
		equal(w, "the digest after another attempt at one", again.Keys, at.Keys)
		equal(w, "the effect's number [L6]", w.effect(publish).Schema, 2)
	}},
	{"an effect that has no items keeps its number [L6]", func(w *world) {
		w.succeed()
		w.finish(w.granted(publish))
		equal(w, "number", w.effect(publish).Schema, operation.SchemaVersion)
	}},
	{"what waits is found by how long it has waited, and has no such time otherwise [S4]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		chunk := named(0, "a", "b", "c", "d", "e")
		for i := range chunk[:4] {
			chunk[i].Err = errFailed
		}
		at := w.recordItems(lease, lease.Progress, chunk)
		equal(w, "they wait", fmt.Sprint(w.waiting()), "[a b c d]")
		again := known(chunk[0], chunk[1], chunk[2])
		again[1].Err, again[2].Permanent = nil, true
		w.recordItems(lease, at, again)
		equal(w, "the one that was tried again is last", fmt.Sprint(w.waiting()), "[d a]")
		for key, waits := range map[string]bool{"a": true, "b": false, "c": false, "d": true, "e": false} {
			equal(w, key+" waits", !w.item(key).WaitingSince.IsZero(), waits)
		}
	}},
	{"every item with an outcome is found, in pages [K4]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		chunk := numbered(0, 5)
		chunk[1].Err, chunk[2].Err, chunk[2].Permanent = errFailed, errFailed, true
		at := w.recordItems(lease, lease.Progress, chunk)
		w.store.Advance(time.Second)
		w.recordItems(lease, at, numbered(5, 2))
		var found []string
		for after, more := (ledger.Cursor{}), true; more; more = after.Path != "" {
			page, err := w.ledger().Items.List(w.ctx, w.name.Key, publish, after, 3)
			if err != nil || len(page.Broken) > 0 {
				w.Fatal(page.Broken, err)
			}
			for _, item := range page.Items {
				found = append(found, item.Key)
			}
			after = page.Next
		}
		equal(w, "items", fmt.Sprint(found), "[item-0 item-1 item-2 item-3 item-4 item-5 item-6]")
	}},
}
