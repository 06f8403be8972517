package ledgertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// refusedItems are permanent failures of the n items from first on, each with its own error.
func refusedItems(first, n int64) []ledger.ItemOutcome {
	all := numbered(first, n)
	for i := range all {
		all[i].Err, all[i].Permanent = errFailed, true
		all[i].Response = fmt.Appendf(nil, `{"text":"%s"}`, all[i].Key)
	}
	return all
}

// diedOfItems makes the world's operation succeed, and its effect DEAD with n items done and the
// others FAILED.
func (w *world) diedOfItems(n int64, others ...ledger.ItemOutcome) {
	w.Helper()
	w.succeed()
	lease := w.granted(publish)
	at := lease.Progress
	at.Total = n + int64(len(others))
	at.Length = at.Total
	w.recordItems(lease, at, append(numbered(0, n), others...))
	if err := w.ledger().Effects.MarkDead(w.ctx, lease, errFailed); err != nil {
		w.Fatal(err)
	}
}

// failedItems returns the items of the effect "publish" that are FAILED, in the order in which they
// failed.
func (w *world) failedItems() (all []ledger.Item) {
	w.Helper()
	var after ledger.Cursor
	for {
		page, err := w.ledger().Items.Failed(w.ctx, w.name.Key, publish, after, 3)
		if err != nil || len(page.Broken) > 0 {
			w.Fatal(page.Broken, err)
		}
		all = append(all, page.Items...)
		if after = page.Next; after.Path == "" {
			return all
		}
	}
}

// tries records failures of item 0 an hour apart, and returns how many it takes until the item is
// given up, at most most.
func (w *world) tries(lease ledger.Lease, most int, counts bool) int {
	w.Helper()
	at := lease.Progress
	for n := range most {
		outcome := named(0, "a")
		outcome[0].Err, outcome[0].Counts, outcome[0].Known = errFailed, counts, n > 0
		at = w.recordItems(lease, at, outcome)
		if at.Failed > 0 {
			return n + 1
		}
		w.store.Advance(time.Hour)
		if err := w.ledger().Effects.Extend(w.ctx, lease); err != nil {
			w.Fatal(err)
		}
	}
	return -1
}

var itemFailed = []ledgerTest{
	{"a failure counts against an item where something in its run succeeded [S4]", func(w *world) {
		w.settings.MaxAttempts, w.settings.RetryFor = 3, 24*time.Hour
		w.succeed()
		equal(w, "given up after", w.tries(w.granted(publish), 50, true), 3)
		item := w.item("a")
		equal(w, "failures that counted", item.Failures, 3)
	}},
	{"where nothing succeeds an item is given up only after so many failures, and after so long [S4]", func(w *world) {
		w.settings.MaxAttempts, w.settings.RetryFor = 3, 24*time.Hour
		w.succeed()
		equal(w, "given up after", w.tries(w.granted(publish), 50, false), 25) // the last 24 hours after the first
		item := w.item("a")
		equal(w, "failures that counted", item.Failures, 0)
		equal(w, "attempts", item.Attempts, 25)
		if failing := item.FailedAt.Sub(item.FailingSince); failing < 24*time.Hour {
			w.Errorf("it failed for %v", failing)
		}
	}},
	{"an item that fails for long, but seldom, is tried on [S4]", func(w *world) {
		w.settings.MaxAttempts, w.settings.RetryFor = 10, 2*time.Hour
		w.succeed()
		equal(w, "given up after", w.tries(w.granted(publish), 50, false), 10)
	}},
	{"without a time to retry for, an item's attempts alone count [S4]", func(w *world) {
		w.settings.MaxAttempts, w.settings.RetryFor = 3, 0
		w.succeed()
		equal(w, "given up after", w.tries(w.granted(publish), 50, false), 3)
	}},
	{"an item's own first failure is what counts, not that of the others [S4]", func(w *world) {
		w.settings.MaxAttempts, w.settings.RetryFor = 1, 24*time.Hour
		w.succeed()
		lease := w.granted(publish)
		fails := func(at ledger.ItemProgress, outcomes ...ledger.ItemOutcome) ledger.ItemProgress {
			for i := range outcomes {
				outcomes[i].Err = errFailed
			}
			return w.recordItems(lease, at, outcomes)
		}
		at := fails(lease.Progress, named(0, "old")...)
		w.store.Advance(23 * time.Hour)
		at = fails(at, named(1, "new")...)
		w.store.Advance(time.Hour)
		fails(at, known(named(0, "old", "new")...)...)
		w.stands("a day after the first", "done 0 failed 1 of 0, next 2, waiting [new]")
	}},
	{"only a success or a refusal starts the counts of the effect again [S2, S4]", func(w *world) {
		w.settings.MaxAttempts, w.settings.RetryFor = 2, 0
		w.succeed()
		w.store.Advance(w.release(w.granted(publish), 0))
		lease := w.granted(publish)
		chunk := numbered(0, 2)
		chunk[0].Err, chunk[1].Err = errFailed, errFailed
		at := w.recordItems(lease, lease.Progress, chunk)
		at = w.recordItems(lease, at, known(chunk...))
		equal(w, "given up", at.Failed, 2)
		equal(w, "attempts", w.effect(publish).Attempts, 2)
		if w.effect(publish).Failing == nil {
			w.Error("that the effect fails was forgotten")
		}
		w.recordItems(lease, at, refusedItems(2, 1))
		equal(w, "attempts after a refusal", w.effect(publish).Attempts, 1)
		if w.effect(publish).Failing != nil {
			w.Error("the effect is still failing after a refusal")
		}
	}},
	{"a FAILED item keeps its response where it fits, else until when it can be fetched [S4]", func(w *world) {
		fits := strings.Repeat("x", ledger.MaxKeptBytes-2)
		words := map[string]string{
			"small": `{"text":"<ü>"}`, "fits": `"` + fits + `"`, "large": `"` + fits + `x"`, "broken": "\"\xff\"", "none": "",
		}
		keys := []string{"small", "fits", "large", "broken", "none", "error"}
		chunk := named(0, keys...)
		for i := range chunk {
			chunk[i].Err, chunk[i].Permanent, chunk[i].Response = errFailed, true, []byte(words[chunk[i].Key])
		}
		chunk[5].Error = []byte(`{"code":3}`)
		w.diedOfItems(0, chunk...)
		for _, key := range keys {
			item := w.item(key)
			kept := key == "small" || key == "fits" || key == "error"
			equal(w, key+" is kept", item.Response+item.Error != "", kept)
			equal(w, key+" can be fetched until some time", !item.FetchableUntil.IsZero(), !kept)
			if kept && key != "error" {
				equal(w, key, item.Response == words[key], true)
			}
		}
		equal(w, "the error", w.item("error").Error, `{"code":3}`)
		equal(w, "large can be fetched until", w.item("large").FetchableUntil.Sub(w.record().UpdateTime), 6*7*24*time.Hour)
	}},
	{"without a time of the end an item can be fetched for ResultsKept after the ledger heard of it [M4]", func(w *world) {
		w.settings.ResultsKept = 9 * time.Hour
		w.register()
		w.ingest(untimed(w.event("d1", operation.Succeeded, 0)))
		lease := w.granted(publish)
		chunk := named(0, "a")
		chunk[0].Err, chunk[0].Permanent = errFailed, true
		w.recordItems(lease, lease.Progress, chunk)
		equal(w, "it can be fetched for", w.item("a").FetchableUntil.Sub(w.record().SettledAt), 9*time.Hour)
	}},
	{"FAILED items do not expire while their effect is dead, and are waived all at once [L3, S2]", func(w *world) {
		w.diedOfItems(3, refusedItems(3, 20)...)
		equal(
			w, "in the list of what is dead", fmt.Sprint(w.list(ledger.Filter{Dead: true, Limit: 9})),
			fmt.Sprint([]operation.Key{w.name.Key}),
		)
		expire := func(what string, want time.Time) {
			w.Helper()
			items := w.failedItems()
			equal(w, what+": items", len(items), 20)
			for _, item := range items {
				equal(w, what+": "+item.Key+" expires at", item.ExpireAt.UTC(), want.UTC())
			}
		}
		expire("dead", time.Time{})
		w.waive(publish)
		w.waivedForGood()
		expire("waived, like the effect", w.effect(publish).ExpireAt)
		equal(w, "replay", w.replay(w.asked(publish, "m1")).Outcome, ledger.Reopened)
		expire("reopened", time.Time{})
	}},
	{"waiving many FAILED items, and a crash at every point [L3]", func(w *world) {
		w.diedOfItems(0, refusedItems(0, 20)...)
		for crashes := 0; ; crashes++ {
			if crashes > 9 {
				w.Fatal("it does not end")
			}
			_, err := w.over(InjectFunc(w.store, once(None, FailBefore))).Effects.Waive(w.ctx, w.name.Key, publish, givingUp)
			if err == nil {
				break
			}
			for _, item := range w.failedItems() {
				if w.effect(publish).Abandoned != nil && item.ExpireAt.IsZero() {
					w.Errorf("the effect is waived and %s is kept for ever", item.Key)
				}
			}
		}
		w.waivedForGood()
	}},
}
