package ledgertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// itemReturned: items whose effect is replayed, rerun or forgotten.
var itemReturned = []ledgerTest{
	{"a rerun begins with the first item, under its own keys, and continues as itself [G5, K4]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		w.recordItems(lease, lease.Progress, numbered(0, 3))
		w.finish(lease)
		w.replay(w.again("fix", "m1"))
		run := publish + "@fix"
		lease = w.granted(run)
		equal(w, "the run's progress", fmt.Sprintf("%+v", lease.Progress), fmt.Sprintf("%+v", ledger.ItemProgress{}))
		at := w.recordItems(lease, lease.Progress, numbered(0, 2))
		item := read[ledger.Item](w, ledger.ItemPath(w.name.Key, run, "item-0"))
		equal(w, "its key", item.IdempotencyKey, "gemini:batches/abc-123#publish@fix/items/item-0")
		equal(w, "the first run's", w.item("item-0").IdempotencyKey, "gemini:batches/abc-123#publish/items/item-0")
		w.stands("the first run", "done 3 failed 0 of 0, next 3, waiting []")
		equal(w, "the record", w.record().Progress[run], operation.Progress{Done: 2})
		w.outbox.sent()
		if unsent, err := w.ledger().Effects.Continue(w.ctx, lease); unsent != nil || err != nil {
			w.Fatalf("Continue: %v, %v", unsent, err)
		}
		sent := w.outbox.sent()
		equal(w, "sent", fmt.Sprint(sent), fmt.Sprint([]ledger.Message{{Operation: w.name.Key, Effect: run, Attempt: 1}}))
		if len(sent) == 1 && (sent[0].FromOperator() || sent[0].Validate() != nil) {
			w.Errorf("what is handed on is a person's, or malformed: %+v", sent[0])
		}
		lease = w.granted(run)
		equal(w, "goes on with", fmt.Sprint(lease.Progress), fmt.Sprint(at))
		w.recordItems(lease, lease.Progress, numbered(2, 1))
		w.finish(lease)
		equal(w, "the run in the record", w.record().Effects[run], operation.EffectDone)
		if n, err := w.ledger().Operations.Forget(w.ctx, w.name.Key); err != nil || n != 10 {
			w.Errorf("Forget: %d, %v, want three items of each run, the runs, the delivery and the record", n, err)
		}
		equal(w, "items of the run", read[ledger.Item](w, ledger.ItemPath(w.name.Key, run, "item-0")).Key, "")
		w.forgotten()
	}},
	{"a dead effect that is reopened goes on where it was [G5]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		w.recordItems(lease, lease.Progress, numbered(0, 3))
		if err := w.ledger().Effects.MarkDead(w.ctx, lease, errFailed); err != nil {
			w.Fatal(err)
		}
		equal(w, "replay", w.replay(w.asked(publish, "m1")).Outcome, ledger.Reopened)
		lease = w.granted(publish)
		equal(w, "goes on after", lease.Progress.Next, 3)
		w.recordItems(lease, lease.Progress, numbered(3, 1))
		w.finish(lease)
		w.stands("in the end", "done 4 failed 0 of 0, next 4, waiting []")
	}},
	{"forgetting deletes the items, too [S7, L3]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		at := w.recordItems(lease, lease.Progress, numbered(0, 120))
		w.recordItems(lease, at, numbered(120, 120))
		if _, err := w.ledger().Operations.Forget(w.ctx, w.name.Key); !errors.Is(err, ledger.ErrHeld) {
			w.Errorf("Forget: %v, want ErrHeld", err)
		}
		equal(w, "items", w.items(), 240)
		w.finish(lease)
		if n, err := w.ledger().Operations.Forget(w.ctx, w.name.Key); err != nil || n != 243 {
			w.Errorf("Forget: %d, %v, want the items, the effect, the delivery and the record", n, err)
		}
		equal(w, "items", w.items(), 0)
		w.forgotten()
	}},
	{"forgetting, and a crash at every point [S7]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		w.recordItems(lease, lease.Progress, numbered(0, 120))
		w.finish(lease)
		for crashes := 0; ; crashes++ {
			if crashes > 20 {
				w.Fatal("it does not end")
			}
			if w.items() > 0 && !w.document(ledger.EffectPath(w.name.Key, publish)).Exists() {
				w.Fatal("some items are no longer found")
			}
			_, err := w.over(InjectFunc(w.store, once(None, FailBefore))).Operations.Forget(w.ctx, w.name.Key)
			if err == nil {
				break
			}
		}
		equal(w, "items", w.items(), 0)
		w.forgotten()
	}},
	{"a replay returns only what FAILED to waiting, with the same keys [G5, K4]", func(w *world) {
		w.diedOfItems(3, refusedItems(3, 2)...)
		w.stands("dead", "done 3 failed 2 of 5, next 5, waiting []")
		equal(w, "replay", w.replay(w.asked(publish, "m1")).Outcome, ledger.Reopened)
		w.stands("reopened", "done 3 failed 0 of 5, next 5, waiting []")
		lease := w.granted(publish)
		at := lease.Progress
		equal(w, "returned", at.Returned, 2)
		equal(w, "up to the fence", at.ReturnedFence, 1)
		equal(w, "every item has an outcome", at.Whole(), true)
		var returned []string
		for _, item := range w.failedItems() {
			returned = append(returned, fmt.Sprint(item.Index, item.Key, item.Response, item.Fence <= at.ReturnedFence))
		}
		equal(w, "what is returned", fmt.Sprint(returned), `[3item-3{"text":"item-3"}true 4item-4{"text":"item-4"}true]`)
		again := known(numbered(3, 2)...)
		again[1].Err = errFailed
		at = w.recordItems(lease, at, again)
		w.stands("tried again", "done 4 failed 0 of 5, next 5, waiting [item-4]")
		equal(w, "returned and not tried", at.Returned, 0)
		done, waits := w.item("item-3"), w.item("item-4")
		equal(
			w,
			"done",
			fmt.Sprint(
				done.State, done.Attempts, done.IdempotencyKey, done.Response, done.FailedAt.IsZero(), done.ExpireAt.IsZero(),
			),
			"DONE1gemini:batches/abc-123#publish/items/item-3true false",
		)
		equal(w, "waits", fmt.Sprint(waits.State, waits.Attempts, waits.Failures, waits.ExpireAt.IsZero()), "PENDING1 0 true")
		equal(w, "and is kept", waits.Response, `{"text":"item-4"}`)
		equal(w, "found", len(w.failedItems()), 1)
		w.recordItems(lease, at, again[1:])
		equal(w, "attempts since the replay", w.item("item-4").Attempts, 2)
	}},
	{"what is FAILED again after a replay waits for another [G5]", func(w *world) {
		w.diedOfItems(0, refusedItems(0, 2)...)
		w.replay(w.asked(publish, "m1"))
		lease := w.granted(publish)
		at := w.recordItems(lease, lease.Progress, known(refusedItems(0, 1)...))
		w.stands("one again", "done 0 failed 1 of 2, next 2, waiting []")
		for _, item := range w.failedItems() {
			equal(w, item.Key+" is still to be tried", item.Fence <= at.ReturnedFence, item.Key == "item-1")
		}
		if err := w.ledger().Effects.MarkDead(w.ctx, lease, errFailed); err != nil {
			w.Fatal(err)
		}
		w.replay(w.asked(publish, "m2"))
		lease = w.granted(publish)
		equal(w, "returned", lease.Progress.Returned, 2)
		w.recordItems(lease, lease.Progress, known(numbered(0, 2)...))
		w.finish(lease)
		w.stands("in the end", "done 2 failed 0 of 2, next 2, waiting []")
	}},
	{"a returned item that is not kept waits for the download, untried [S4]", func(w *world) {
		chunk := refusedItems(0, 2)
		chunk[1].Response = nil
		w.diedOfItems(0, chunk...)
		w.replay(w.asked(publish, "m1"))
		lease := w.granted(publish)
		at := w.recordItems(lease, lease.Progress, known(ledger.ItemOutcome{Index: 1, Key: "item-1", Untried: true}))
		w.stands("it waits", "done 0 failed 0 of 2, next 2, waiting [item-1]")
		item := w.item("item-1")
		equal(
			w, "the item", fmt.Sprint(item.State, item.Attempts, item.FetchableUntil.IsZero(), item.LastError),
			"PENDING0 false"+errFailed.Error(),
		)
		equal(w, "returned", at.Returned, 1)
	}},
	{"forgetting what is too big together [S7]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		w.recordItems(lease, lease.Progress, numbered(0, 50))
		w.finish(lease)
		if n, err := w.over(&narrow{Store: w.store, most: 7}).Operations.Forget(w.ctx, w.name.Key); err != nil || n != 53 {
			w.Errorf("Forget: %d, %v", n, err)
		}
		w.forgotten()
		equal(w, "items left", w.items(), 0)
	}},
}

// A narrow store refuses commits of many documents as too big.
type narrow struct {
	ledger.Store
	most int
}

func (s *narrow) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	if len(writes) > s.most {
		return nil, ledger.ErrTooBig
	}
	return s.Store.Commit(ctx, writes...)
}
