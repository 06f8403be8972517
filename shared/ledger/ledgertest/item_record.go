package ledgertest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

var itemRecord = join([]ledgerTest{
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
	{"an item is never due: the sweep finds its effect alone [R5]", func(w *world) {
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
		chunk[2].Err, chunk[2].Counts = errFailed, true
		at := w.recordItems(lease, lease.Progress, chunk)
		w.stands("the first attempt", "done 2 failed 1 of 0, next 4, waiting [busy]")
		equal(w, "refused", w.item("refused").State, ledger.ItemFailed)
		equal(w, "busy", w.item("busy").State, ledger.ItemPending)
		equal(w, "why", w.item("busy").LastError, errFailed.Error())

		w.store.Advance(w.release(lease, 0))
		lease = w.granted(publish)
		equal(w, "the lease tells", fmt.Sprint(lease.Progress), fmt.Sprint(at))
		chunk = known(named(2, "busy")...)
		chunk[0].Err, chunk[0].Counts = errFailed, true
		chunk = append(chunk, named(4, "new")...)
		w.recordItems(lease, lease.Progress, chunk)
		w.stands("the second attempt", "done 3 failed 1 of 0, next 5, waiting [busy]")
		equal(w, "attempts of busy", w.item("busy").Attempts, 2)

		w.store.Advance(w.release(lease, 0))
		lease = w.granted(publish)
		w.recordItems(lease, lease.Progress, chunk[:1])
		w.stands("the third attempt", "done 3 failed 2 of 0, next 5, waiting []")
		equal(w, "busy", w.item("busy").State, ledger.ItemFailed)
	}},
	{"an item that waited and succeeds [S4]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		chunk := numbered(0, 3)
		chunk[0].Err, chunk[1].Err, chunk[2].Err = errFailed, errFailed, errFailed
		at := w.recordItems(lease, lease.Progress, chunk)
		w.stands("failed", "done 0 failed 0 of 0, next 3, waiting [item-0 item-1 item-2]")
		w.recordItems(lease, at, known(numbered(1, 1)...))
		w.stands("one succeeded", "done 1 failed 0 of 0, next 3, waiting [item-0 item-2]")
		equal(w, "attempts", w.item("item-1").Attempts, 2)
	}},
	{"a few lost races change nothing of what is recorded [M6]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		chunk := numbered(0, 4)
		chunk[0].Err, chunk[1].Err, chunk[3].Err = errFailed, errFailed, errFailed
		at := w.recordItems(lease, lease.Progress, chunk)
		chunk[1].Err = nil
		again := known(chunk[0], chunk[1], chunk[3])
		w.store.Advance(time.Second)
		if _, err := w.over(Inject(w.store, Abort, FailBefore, Abort)).Items.Record(w.ctx, lease, at, again); err != nil {
			w.Fatal(err)
		}
		w.stands("recorded", "done 2 failed 0 of 0, next 4, waiting [item-0 item-3]")
		equal(w, "what the caller holds", at.Waiting(), 3)
	}},
	{"Items.Record with fewer items after a lost answer returns how many were recorded [K4]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		chunk := numbered(0, 4)
		chunk[0].Err, chunk[1].Err = errFailed, errFailed
		at := w.recordItems(lease, lease.Progress, chunk)
		again := append(known(numbered(0, 2)...), numbered(4, 1)...)
		w.recordItems(lease, at, again) // its answer is lost
		next := w.recordItems(lease, at, again[:1])
		equal(w, "recorded", next.Recorded, 3)
		w.stands("once", "done 5 failed 0 of 0, next 5, waiting []")
		equal(w, "attempts", w.item("item-0").Attempts, 2)
	}},
	{"a run that is killed, but gets further each time, does not end DEAD [S2]", func(w *world) {
		w.settings.MaxAttempts = 3
		w.succeed()
		for i := range int64(10) {
			lease := w.granted(publish)
			w.recordItems(lease, lease.Progress, numbered(i, 1))
			w.store.Advance(w.settings.ClaimTTL + time.Second)
		}
		w.stands("after ten deaths", "done 10 failed 0 of 0, next 10, waiting []")
		w.crash(8) // and the last that got further
		equal(w, "without coming further", w.claim(publish).Verdict, ledger.Exhausted)
	}},
	{"a worker that lost its lease records no item [S6]", func(w *world) {
		w.succeed()
		zombie := w.granted(publish)
		at := w.recordItems(zombie, zombie.Progress, numbered(0, 2))
		w.store.Advance(w.settings.ClaimTTL + time.Second)
		successor := w.granted(publish)
		equal(w, "the successor goes on after", successor.Progress.Next, 2)
		late := numbered(2, 2)
		late[0].ExtraWrites = []ledger.Write{{Path: pathC, Data: note{Text: "a zombie's"}}}
		refused := func(when string) {
			w.Helper()
			if _, err := w.ledger().Items.Record(w.ctx, zombie, at, late); !errors.Is(err, ledger.ErrLeaseLost) {
				w.Errorf("%s: %v, want ErrLeaseLost", when, err)
			}
			if _, err := w.ledger().Effects.Continue(w.ctx, zombie); !errors.Is(err, ledger.ErrLeaseLost) {
				w.Errorf("Continue, %s: %v, want ErrLeaseLost", when, err)
			}
		}
		refused("before the successor recorded anything")
		w.recordItems(successor, successor.Progress, numbered(2, 1))
		refused("afterwards")
		w.finish(successor)
		refused("when it is done")
		equal(w, "a zombie's extra write was made", w.document(pathC).Exists(), false)
		equal(w, "a zombie's item is there", w.item("item-3").State, "")
	}},
	{"the record's progress is updated about once a second, and at the end [L1]", func(w *world) {
		w.settings.Rules = nil
		effects := []string{"first", "second", "third"}
		for _, name := range effects {
			w.settings.Rules = append(w.settings.Rules, ledger.Rule{Name: name, On: []operation.State{operation.Succeeded}})
		}
		w.register()
		w.ingest(w.event("d1", operation.Succeeded, time.Second))
		leases, at := map[string]ledger.Lease{}, map[string]ledger.ItemProgress{}
		for _, name := range effects {
			leases[name] = w.granted(name)
		}
		var told []time.Time
		version := w.record().Version
		for i := range int64(12) {
			for _, name := range effects {
				var err error
				if at[name], err = w.ledger().Items.Record(w.ctx, leases[name], at[name], numbered(i, 1)); err != nil {
					w.Fatal(err)
				}
				if rec := w.record(); rec.Version > version {
					told, version = append(told, rec.ProgressAt), rec.Version
				}
			}
			w.store.Advance(time.Second / 4)
		}
		if len(told) < 3 {
			w.Errorf("updated at %v, within three seconds", told)
		}
		for i := 1; i < len(told); i++ {
			if since := told[i].Sub(told[i-1]); since < time.Second {
				w.Errorf("updated again after %v", since)
			}
		}
		for _, name := range effects {
			w.finish(leases[name])
			equal(w, "the end of "+name, w.record().Progress[name], operation.Progress{Done: 12})
		}
	}},
	{"extra writes are made with their item, once", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		chunk := named(0, "a", "b")
		chunk[0].ExtraWrites = []ledger.Write{{Path: pathC, Data: note{Text: "a"}}}
		chunk[1].ExtraWrites, chunk[1].Err = []ledger.Write{{Path: pathB, Data: note{Text: "b"}}}, errFailed
		w.recordItems(lease, lease.Progress, chunk)
		equal(w, "the extra write", read[note](w, pathC).Text, "a")
		equal(w, "that of a failure is there", w.document(pathB).Exists(), false)
	}},
	{"an extra write that replaces overwrites an existing document", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		for i, text := range []string{"first", "second"} {
			chunk := numbered(int64(i), 1)
			chunk[0].ExtraWrites = []ledger.Write{{Path: pathC, Token: ledger.Replace, Data: note{Text: text}}}
			lease.Progress = w.recordItems(lease, lease.Progress, chunk)
			equal(w, "the extra write", read[note](w, pathC).Text, text)
		}
		w.finish(lease, ledger.Write{Path: pathC, Token: ledger.Replace, Data: note{Text: "third"}},
			ledger.Write{Path: pathB, Token: ledger.Replace, Data: note{Text: "new"}})
		equal(w, "with the finish", read[note](w, pathC).Text+read[note](w, pathB).Text, "thirdnew")
	}},
	{"an extra write that is refused records nothing", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		chunk := numbered(0, 2)
		chunk[1].ExtraWrites = []ledger.Write{{Path: pathC, Data: note{Text: strings.Repeat("x", ledger.MaxDocumentBytes+1)}}}
		if _, err := w.ledger().Items.Record(w.ctx, lease, lease.Progress, chunk); !errors.Is(err, ledger.ErrInvalid) {
			w.Errorf("Items.Record: %v, want ErrInvalid", err)
		}
		equal(w, "items", w.items(), 0)
		w.recordItems(lease, lease.Progress, numbered(0, 2))
	}},
},
	lostly("Items.Record: recorded once [S3]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		lease := w.granted(publish)
		chunk := numbered(0, 3)
		chunk[0].ExtraWrites = []ledger.Write{{Path: pathC, Data: note{Text: "once"}}}
		chunk[1].Err = errFailed
		at, err := l.Items.Record(w.ctx, lease, lease.Progress, chunk)
		if err != nil {
			w.Fatalf("Items.Record: %v", err)
		}
		w.stands("recorded", "done 2 failed 0 of 0, next 3, waiting [item-1]")
		equal(w, "attempts", w.item("item-1").Attempts, 1)
		w.recordItems(lease, at, known(numbered(1, 1)...))
		w.stands("and on", "done 3 failed 0 of 0, next 3, waiting []")
	}),
	lostly("UpdateProgress: refused under another lease, and nothing is written [S6]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		lease := w.granted(publish)
		w.store.Advance(w.settings.ClaimTTL + time.Second)
		w.granted(publish)
		version := w.effect(publish).Version
		if _, err := l.Items.UpdateProgress(w.ctx, lease, ledger.ItemProgress{Total: 7}); !errors.Is(err,
			ledger.ErrLeaseLost) {
			w.Errorf("UpdateProgress: %v, want ErrLeaseLost", err)
		}
		equal(w, "version", w.effect(publish).Version, version)
	}),
	lostly("UpdateProgress: recorded, in the record, too [L1]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		lease := w.granted(publish)
		chunk := numbered(0, 3)
		chunk[1].Err = errFailed
		at := w.recordItems(lease, lease.Progress, chunk)
		at.Total, at.Length = 3, 3
		next, err := l.Items.UpdateProgress(w.ctx, lease, at)
		if err != nil || next.Total != 3 || !next.Whole() {
			w.Errorf("UpdateProgress: %+v, %v", next, err)
		}
		w.stands("told", "done 2 failed 0 of 3, next 3, waiting [item-1]")
		version := w.effect(publish).Version
		if _, err := w.ledger().Items.UpdateProgress(w.ctx, lease, next); err != nil {
			w.Error(err)
		}
		equal(w, "version, where nothing is new", w.effect(publish).Version, version)
		w.recordItems(lease, next, known(numbered(1, 1)...))
		w.stands("and on", "done 3 failed 0 of 3, next 3, waiting []")
	}),
)
