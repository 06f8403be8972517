package ledgertest

import (
	"errors"
	"fmt"
	"strings"
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

// recordItems records items and insists on it.
func (w *world) recordItems(lease ledger.Lease, at ledger.ItemProgress, outcomes []ledger.ItemOutcome) ledger.ItemProgress {
	w.Helper()
	next, err := w.ledger().RecordItems(w.ctx, lease, at, outcomes)
	if err != nil {
		w.Fatalf("RecordItems: %v", err)
	}
	return next
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
		Collection: ledger.ItemsCollection, Under: ledger.EffectPath(w.name.Key, publish), OrderBy: ledger.FieldCreatedAt, Limit: 1000,
	})
	if err != nil {
		w.Fatal(err)
	}
	return len(found)
}

// stands checks how far the items have come, in the effect and in the record.
func (w *world) stands(what, want string) {
	w.Helper()
	var p ledger.ItemProgress
	if e := w.effect(publish); e.Progress != nil {
		p = *e.Progress
	}
	equal(w, what, fmt.Sprintf("done %d failed %d of %d, next %d, waiting %v", p.Done, p.Failed, p.Total, p.Next, p.Waiting), want)
	equal(w, what+": the record", w.record().Progress[publish], operation.Progress{Done: p.Done, Failed: p.Failed, Total: p.Total})
}

var itemTests = join([]ledgerTest{
	{"items are recorded in chunks, with a document each [K4]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		at := lease.Progress
		at.Total = 5
		at = w.recordItems(lease, at, named(0, "review-17", "a/b", strings.Repeat("long", 300)))
		w.stands("the first chunk", "done 3 failed 0 of 5, next 3, waiting []")
		at = w.recordItems(lease, at, named(3, "d", "e"))
		w.stands("the second chunk", "done 5 failed 0 of 5, next 5, waiting []")
		equal(w, "returned", fmt.Sprint(at), fmt.Sprint(*w.effect(publish).Progress))
		item := w.item("review-17")
		equal(w, "key [K4]", item.IdempotencyKey, "gemini:batches/abc-123#publish/items/review-17")
		equal(w, "state", item.State, ledger.ItemDone)
		equal(w, "what else", fmt.Sprint(item.Index, item.Fence, item.Attempts, item.LastError == ""), "0 1 1 true")
		near(w, "it expires in [L3]", item.ExpireAt.Sub(w.now()), 2*w.settings.Retention)
		equal(w, "the effect", w.effect(publish).State, ledger.EffectClaimed)
		w.finish(lease)
		w.stands("finished", "done 5 failed 0 of 5, next 5, waiting []")
		equal(w, "documents", w.items(), 5)
		w.lives("closed", false, w.settings.Retention)
	}},
	{"nobody waits for an item: the sweep sees its effect alone [R5]", func(w *world) {
		w.succeed()
		w.recordItems(w.granted(publish), ledger.ItemProgress{}, numbered(0, 10))
		w.store.Advance(w.settings.ClaimTTL + time.Second)
		page := w.dueEffects()
		if len(page.Items) != 1 || page.Items[0].Effect.Name != publish || len(page.Broken) != 0 {
			w.Errorf("due: %+v", page)
		}
	}},
	{"a chunk extends the lease [S5]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		w.store.Advance(w.settings.ClaimTTL * 2 / 3)
		w.recordItems(lease, lease.Progress, numbered(0, 1))
		near(w, "held for", w.claim(publish).RetryAfter, w.settings.ClaimTTL)
		equal(w, "due when the lease is over", w.effect(publish).DueAt, w.effect(publish).ClaimableAt)
	}},
	{"one bad item does not stop the others [K4, S4]", func(w *world) {
		w.settings.MaxAttempts = 3
		w.succeed()
		lease := w.granted(publish)
		chunk := named(0, "good", "refused", "busy", "fine")
		chunk[1].Err, chunk[1].Permanent = errors.New("no\xff"), true
		chunk[2].Err = errFailed
		at := w.recordItems(lease, lease.Progress, chunk)
		w.stands("the first attempt", "done 2 failed 1 of 0, next 4, waiting [2]")
		equal(w, "refused", w.item("refused").State, ledger.ItemFailed)
		equal(w, "busy", w.item("busy").State, ledger.ItemPending)
		equal(w, "why", w.item("busy").LastError, errFailed.Error())
		for index, wanted := range map[int64]bool{0: false, 1: false, 2: true, 3: false, 4: true, 5: true} {
			equal(w, fmt.Sprintf("item %d is wanted", index), at.Wanted(index), wanted)
		}
		equal(w, "goes on at", at.From(), 2)

		w.store.Advance(w.release(lease, 0))
		lease = w.granted(publish)
		equal(w, "the lease tells", lease.Progress.From(), 2)
		chunk = named(2, "busy")
		chunk[0].Err = errFailed
		chunk = append(chunk, named(4, "new")...)
		w.recordItems(lease, lease.Progress, chunk)
		w.stands("the second attempt", "done 3 failed 1 of 0, next 5, waiting [2]")
		equal(w, "attempts of busy", w.item("busy").Attempts, 2)

		w.store.Advance(w.release(lease, 0))
		lease = w.granted(publish)
		at = w.recordItems(lease, lease.Progress, chunk[:1])
		w.stands("the third attempt", "done 3 failed 2 of 0, next 5, waiting []")
		equal(w, "busy", w.item("busy").State, ledger.ItemFailed)
		equal(w, "goes on at", at.From(), 5)
		w.finish(lease)
	}},
	{"an item that waited and succeeds [S4]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		chunk := numbered(0, 3)
		chunk[0].Err, chunk[1].Err, chunk[2].Err = errFailed, errFailed, errFailed
		at := w.recordItems(lease, lease.Progress, chunk)
		w.stands("failed", "done 0 failed 0 of 0, next 3, waiting [0 1 2]")
		w.recordItems(lease, at, []ledger.ItemOutcome{numbered(1, 1)[0]})
		w.stands("one succeeded", "done 1 failed 0 of 0, next 3, waiting [0 2]")
		equal(w, "attempts", w.item("item-1").Attempts, 2)
	}},
	{"a few lost races change nothing of what is recorded [M6]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		chunk := numbered(0, 4)
		chunk[0].Err, chunk[1].Err, chunk[3].Err = errFailed, errFailed, errFailed
		at := w.recordItems(lease, lease.Progress, chunk)
		chunk[1].Err = nil
		again := append(chunk[:2:2], chunk[3])
		if _, err := w.over(Inject(w.store, Abort, FailBefore, Abort)).RecordItems(w.ctx, lease, at, again); err != nil {
			w.Fatal(err)
		}
		w.stands("recorded", "done 2 failed 0 of 0, next 4, waiting [0 3]")
		equal(w, "what the caller holds", fmt.Sprint(at.Waiting), "[0 1 3]")
	}},
	{"fewer items after a commit whose answer was lost are told how many it recorded [K4]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		chunk := numbered(0, 4)
		chunk[0].Err, chunk[1].Err = errFailed, errFailed
		at := w.recordItems(lease, lease.Progress, chunk)
		again := []ledger.ItemOutcome{numbered(0, 1)[0], numbered(1, 1)[0], numbered(4, 1)[0]}
		w.recordItems(lease, at, again) // nobody heard of it
		next := w.recordItems(lease, at, again[:1])
		equal(w, "recorded", next.Recorded, 3)
		w.stands("once", "done 5 failed 0 of 0, next 5, waiting []")
		equal(w, "attempts", w.item("item-0").Attempts, 2)
	}},
	{"a run that comes further does not die of being killed [S2]", func(w *world) {
		w.settings.MaxAttempts = 3
		w.succeed()
		for i := range int64(10) {
			lease := w.granted(publish)
			w.recordItems(lease, lease.Progress, numbered(i, 1))
			w.store.Advance(w.settings.ClaimTTL + time.Second)
		}
		w.stands("after ten deaths", "done 10 failed 0 of 0, next 10, waiting []")
		w.crash(8) // and the last that came further
		equal(w, "without coming further", w.claim(publish).Verdict, ledger.Exhausted)
	}},
	{"a worker that lost its lease records no item [S6]", func(w *world) {
		w.succeed()
		zombie := w.granted(publish)
		at := w.recordItems(zombie, zombie.Progress, numbered(0, 2))
		w.store.Advance(w.settings.ClaimTTL + time.Second)
		successor := w.granted(publish)
		equal(w, "the successor goes on at", successor.Progress.From(), 2)
		late := numbered(2, 2)
		late[0].Riders = []ledger.Write{{Path: pathC, Data: note{Text: "a zombie's"}}}
		refused := func(when string) {
			w.Helper()
			if _, err := w.ledger().RecordItems(w.ctx, zombie, at, late); !errors.Is(err, ledger.ErrLeaseLost) {
				w.Errorf("%s: %v, want ErrLeaseLost", when, err)
			}
			if _, err := w.ledger().Continue(w.ctx, zombie); !errors.Is(err, ledger.ErrLeaseLost) {
				w.Errorf("Continue, %s: %v, want ErrLeaseLost", when, err)
			}
		}
		refused("before the successor recorded anything")
		w.recordItems(successor, successor.Progress, numbered(2, 1))
		refused("afterwards")
		w.finish(successor)
		refused("when it is done")
		equal(w, "a zombie's rider is there", w.document(pathC).Exists(), false)
		equal(w, "a zombie's item is there", w.item("item-3").State, "")
	}},
	{"riders are written with their item, once", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		chunk := named(0, "a", "b")
		chunk[0].Riders = []ledger.Write{{Path: pathC, Data: note{Text: "a"}}}
		chunk[1].Riders, chunk[1].Err = []ledger.Write{{Path: pathB, Data: note{Text: "b"}}}, errFailed
		w.recordItems(lease, lease.Progress, chunk)
		equal(w, "the rider", read[note](w, pathC).Text, "a")
		equal(w, "that of a failure is there", w.document(pathB).Exists(), false)
	}},
	{"a rider that replaces takes the place of what there is", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		for i, text := range []string{"first", "second"} {
			chunk := numbered(int64(i), 1)
			chunk[0].Riders = []ledger.Write{{Path: pathC, Token: ledger.Replace, Data: note{Text: text}}}
			lease.Progress = w.recordItems(lease, lease.Progress, chunk)
			equal(w, "the rider", read[note](w, pathC).Text, text)
		}
		w.finish(lease, ledger.Write{Path: pathC, Token: ledger.Replace, Data: note{Text: "third"}},
			ledger.Write{Path: pathB, Token: ledger.Replace, Data: note{Text: "new"}})
		equal(w, "with the finish", read[note](w, pathC).Text+read[note](w, pathB).Text, "thirdnew")
	}},
	{"a rider that cannot be written records nothing", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		chunk := numbered(0, 2)
		chunk[1].Riders = []ledger.Write{{Path: pathC, Data: note{Text: strings.Repeat("x", ledger.MaxDocumentBytes+1)}}}
		if _, err := w.ledger().RecordItems(w.ctx, lease, lease.Progress, chunk); !errors.Is(err, ledger.ErrInvalid) {
			w.Errorf("RecordItems: %v, want ErrInvalid", err)
		}
		equal(w, "items", w.items(), 0)
		w.recordItems(lease, lease.Progress, numbered(0, 2))
	}},
	{"handing on counts no attempt and can be claimed at once [S4]", func(w *world) {
		w.succeed()
		w.outbox.sent()
		for i := range int64(5) {
			lease := w.granted(publish)
			equal(w, "attempt", lease.Attempt, 1)
			equal(w, "fence", lease.Fence, i+1)
			w.recordItems(lease, lease.Progress, numbered(i, 1))
			if unsent, err := w.ledger().Continue(w.ctx, lease); unsent != nil || err != nil {
				w.Fatalf("Continue: %v, %v", unsent, err)
			}
			equal(w, "sent", fmt.Sprint(w.outbox.sent()), fmt.Sprint([]ledger.Message{{Operation: w.name.Key, Effect: publish, Attempt: 1}}))
		}
		equal(w, "state", w.effect(publish).State, ledger.EffectPending)
		equal(w, "due", len(w.dueEffects().Items), 1)
		w.outbox.err = errFailed
		lease := w.granted(publish)
		if unsent, err := w.ledger().Continue(w.ctx, lease); !errors.Is(unsent, errFailed) || err != nil {
			w.Errorf("Continue: %v, %v", unsent, err)
		}
	}},
	{"a run anew begins with the first item, under keys of its own, and hands on as itself [G5, K4]", func(w *world) {
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
		if unsent, err := w.ledger().Continue(w.ctx, lease); unsent != nil || err != nil {
			w.Fatalf("Continue: %v, %v", unsent, err)
		}
		sent := w.outbox.sent()
		equal(w, "sent", fmt.Sprint(sent), fmt.Sprint([]ledger.Message{{Operation: w.name.Key, Effect: run, Attempt: 1}}))
		if len(sent) == 1 && (sent[0].FromPerson() || sent[0].Validate() != nil) {
			w.Errorf("what is handed on is a person's, or malformed: %+v", sent[0])
		}
		lease = w.granted(run)
		equal(w, "goes on at", lease.Progress.From(), at.Next)
		w.recordItems(lease, lease.Progress, numbered(2, 1))
		w.finish(lease)
		equal(w, "the run in the record", w.record().Effects[run], operation.EffectDone)
		if n, err := w.ledger().Forget(w.ctx, w.name.Key); err != nil || n != 10 {
			w.Errorf("Forget: %d, %v, want three items of each run, the runs, the delivery and the record", n, err)
		}
		equal(w, "items of the run", read[ledger.Item](w, ledger.ItemPath(w.name.Key, run, "item-0")).Key, "")
		w.forgotten()
	}},
	{"a dead effect that is reopened goes on where it was [G5]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		w.recordItems(lease, lease.Progress, numbered(0, 3))
		if err := w.ledger().Bury(w.ctx, lease, errFailed); err != nil {
			w.Fatal(err)
		}
		equal(w, "replay", w.replay(w.asked(publish, "m1")).Outcome, ledger.Reopened)
		lease = w.granted(publish)
		equal(w, "goes on at", lease.Progress.From(), 3)
		w.recordItems(lease, lease.Progress, numbered(3, 1))
		w.finish(lease)
		w.stands("in the end", "done 4 failed 0 of 0, next 4, waiting []")
	}},
	{"forgetting takes the items along [S7, L3]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		at := w.recordItems(lease, lease.Progress, numbered(0, 120))
		w.recordItems(lease, at, numbered(120, 120))
		if _, err := w.ledger().Forget(w.ctx, w.name.Key); !errors.Is(err, ledger.ErrHeld) {
			w.Errorf("Forget: %v, want ErrHeld", err)
		}
		equal(w, "items", w.items(), 240)
		w.finish(lease)
		if n, err := w.ledger().Forget(w.ctx, w.name.Key); err != nil || n != 243 {
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
				w.Fatal("there are items that nobody finds any more")
			}
			_, err := w.over(InjectFunc(w.store, once(None, FailBefore))).Forget(w.ctx, w.name.Key)
			if err == nil {
				break
			}
		}
		equal(w, "items", w.items(), 0)
		w.forgotten()
	}},
},
	lostly("RecordItems: recorded once [S3]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		lease := w.granted(publish)
		chunk := numbered(0, 3)
		chunk[0].Riders = []ledger.Write{{Path: pathC, Data: note{Text: "once"}}}
		chunk[1].Err = errFailed
		at, err := l.RecordItems(w.ctx, lease, lease.Progress, chunk)
		if err != nil {
			w.Fatalf("RecordItems: %v", err)
		}
		w.stands("recorded", "done 2 failed 0 of 0, next 3, waiting [1]")
		equal(w, "attempts", w.item("item-1").Attempts, 1)
		w.recordItems(lease, at, numbered(1, 1))
		w.stands("and on", "done 3 failed 0 of 0, next 3, waiting []")
	}),
	lostly("Continue: handed on, once [S4]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		lease := w.granted(publish)
		w.outbox.sent()
		if unsent, err := l.Continue(w.ctx, lease); unsent != nil || err != nil {
			w.Fatalf("Continue: %v, %v", unsent, err)
		}
		equal(w, "attempts", w.effect(publish).Attempts, 0)
		equal(w, "sent", fmt.Sprint(w.outbox.sent()), fmt.Sprint([]ledger.Message{{Operation: w.name.Key, Effect: publish, Attempt: 1}}))
	}),
)

// once returns a fault plan: these, one each, and the last for ever.
func once(faults ...Fault) func() Fault {
	return func() Fault {
		fault := faults[0]
		if len(faults) > 1 {
			faults = faults[1:]
		}
		return fault
	}
}

// itemCrashes kill the worker at every commit of a run over items; whoever comes next goes on, and in the end each item was
// recorded once.
var itemCrashes = []ledgerTest{
	{"a crash between two chunks, at every place [S6, K4]", func(w *world) {
		const all, each = 12, 3
		w.succeed()
		recorded := map[string]int{}
		crash := 0
		for w.effect(publish).State != ledger.EffectDone {
			if crash++; crash > 20 {
				w.Fatal("it does not end")
			}
			lease := w.granted(publish)
			l := w.over(InjectFunc(w.store, once(None, FailBefore))) // one more commit, and then it is dead
			at, err := lease.Progress, error(nil)
			for at.Next < all {
				chunk := numbered(at.Next, each)
				var next ledger.ItemProgress
				if next, err = l.RecordItems(w.ctx, lease, at, chunk); err != nil {
					break
				}
				for _, o := range chunk {
					recorded[o.Key]++
				}
				at = next
			}
			if err == nil {
				err = l.Finish(w.ctx, lease)
			}
			if err != nil && !errors.Is(err, ledger.ErrUnavailable) {
				w.Fatal(err)
			}
			w.store.Advance(w.settings.ClaimTTL + time.Second)
		}
		equal(w, "items recorded", len(recorded), all)
		for key, times := range recorded {
			equal(w, key, times, 1)
			equal(w, key+", attempts", w.item(key).Attempts, 1)
		}
		w.stands("in the end", "done 12 failed 0 of 0, next 12, waiting []")
	}},
}
