package ledgertest

import (
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// What decides an attempt whose submitter did not come back: Gemini's list, read late enough.
var intentVerdict = []ledgerTest{
	{"a list decides an attempt only where its reading began five minutes after it [G6]", func(w *world) {
		w.decided("i-1", "dead", ledger.MaySubmit)
		equal(w, "due", len(w.dueIntents().Items), 0)
		for _, after := range []time.Duration{0, attemptOver - time.Minute} {
			w.store.Advance(after)
			w.unlisted("i-1")
			waits := w.decided("i-1", "again", ledger.MustWait)
			equal(w, "until", waits.WaitUntil.Sub(waits.CreatedAt), attemptOver+w.settings.Interval)
			near(w, "for", waits.WaitFor, attemptOver+w.settings.Interval-after)
		}
		w.store.Advance(time.Minute)
		waits := w.decided("i-1", "again", ledger.MustWait)
		near(w, "until", waits.WaitUntil.Sub(w.now()), w.settings.Interval)
		equal(w, "due", len(w.dueIntents().Items), 1)
		w.unlisted("i-1")
		equal(w, "due when it is decided", len(w.dueIntents().Items), 0)
		stored := w.intent("i-1")
		equal(w, "due", stored.DueAt, stored.GiveUpAt)
		equal(w, "attempt", w.decided("i-1", "again", ledger.MaySubmit).Attempt.ID, "again")
		w.decided("i-1", "third", ledger.MustWait)
	}},
	{"while Gemini cannot be listed, each pass tries again [G6, R6]", func(w *world) {
		w.intend("i-1")
		w.store.Advance(attemptOver)
		for range 3 {
			items := w.dueIntents().Items
			if len(items) != 1 {
				w.Fatalf("%d are due", len(items))
			}
			if _, err := w.ledger().Intents.Postpone(w.ctx, items[0], w.now()); err != nil {
				w.Fatal(err)
			}
			between(w, "due in", w.intent("i-1").DueAt.Sub(w.now()), w.settings.Interval*7/10, w.settings.Interval)
			w.decided("i-1", "again", ledger.MustWait)
			w.store.Advance(w.settings.Interval)
		}
		w.unlisted("i-1")
		w.decided("i-1", "again", ledger.MaySubmit)
	}},
	{"what no list shows is not submitted again, whatever was read [G6]", func(w *world) {
		for _, kinds := range [][2]operation.Collection{
			{operation.Operations, operation.Operations}, {operation.Interactions, operation.Interactions},
			{"", ""}, {"", operation.Batches}, {operation.Batches, ""}, {operation.Batches, operation.Operations},
		} {
			id := "i-" + string(kinds[0]) + "-" + string(kinds[1])
			i := w.intention(id)
			i.Collection = kinds[0]
			if _, err := w.ledger().Intents.Intend(w.ctx, i); err != nil {
				w.Fatal(err)
			}
			w.store.Advance(time.Hour)
			w.unlisted(id)
			i.Collection = kinds[1]
			intent, err := w.ledger().Intents.Intend(w.ctx, i)
			if err != nil || intent.Verdict != ledger.MustWait || !intent.WaitUntil.IsZero() {
				w.Errorf("%s: %+v, %v", id, intent, err)
			}
		}
	}},
	{"a name that a delivery brought is looked up before it is decided [G6]", func(w *world) {
		w.intend("i-1")
		w.store.Advance(attemptOver)
		w.unlisted("i-1")
		w.keepName("i-1", "operations/v1")
		w.decided("i-1", "again", ledger.MustWait)
		w.store.Advance(w.settings.Interval)
		equal(w, "due", len(w.dueIntents().Items), 1)
		w.unlisted("i-1")
		w.decided("i-1", "again", ledger.MaySubmit)
	}},
	{"an intent whose search is rare or over is searched for once more, for who asks [G6]", func(w *world) {
		for _, over := range []bool{false, true} {
			id := map[bool]string{false: "rare", true: "over"}[over]
			w.overdue(id)
			w.giveUp()
			w.store.Advance(40 * time.Hour)
			if over {
				w.endSearches()
			} else if _, err := w.ledger().Intents.Postpone(w.ctx, w.waitingIntent(id), w.now()); err != nil {
				w.Fatal(err)
			}
			for range 2 { // the second asks for nothing more
				w.decided(id, "again", ledger.MustWait)
				near(w, "due", w.intent(id).DueAt.Sub(w.now()), 0)
			}
			equal(w, "it expires while it is searched for", w.intent(id).ExpireAt.IsZero(), true)
			w.unlisted(id)
			w.decided(id, "again", ledger.MaySubmit)
			w.delete(ledger.Path("intents/" + id))
		}
	}},
	{"after the store's clock was set back an attempt is no later than it was seen [G6]", func(w *world) {
		w.store.Advance(8 * time.Hour)
		w.intend("i-1")
		w.store.Advance(-8 * time.Hour)
		w.decided("i-1", "again", ledger.MustWait)
		near(w, "attempted", w.intent("i-1").AttemptedAt().Sub(w.now()), 0)
		w.store.Advance(attemptOver)
		w.unlisted("i-1")
		w.decided("i-1", "again", ledger.MaySubmit)
	}},
	{"a clock that leapt forward does not end an attempt: it must run for five minutes first [G6]", func(w *world) {
		w.decided("i-1", "alive", ledger.MaySubmit)
		w.leap(8 * time.Hour)
		for _, after := range []time.Duration{0, attemptOver - time.Second} {
			w.store.Advance(after)
			w.unlisted("i-1")
			waits := w.decided("i-1", "again", ledger.MustWait)
			near(w, "for", waits.WaitFor, attemptOver+w.settings.Interval-after)
		}
		w.store.Advance(time.Second)
		w.unlisted("i-1")
		w.decided("i-1", "again", ledger.MaySubmit)
	}},
	{"a leap before the attempt, or after it was decided, changes nothing [G6]", func(w *world) {
		w.leap(8 * time.Hour)
		w.store.Advance(time.Second)
		w.decided("i-1", "dead", ledger.MaySubmit)
		w.store.Advance(attemptOver)
		w.unlisted("i-1")
		w.leap(8 * time.Hour)
		w.decided("i-1", "again", ledger.MaySubmit)
	}},
	{"an attempt of an older revision is decided, too, and cannot be withdrawn [L5]", func(w *world) {
		w.decided("i-1", "new", ledger.MaySubmit)
		w.store.Advance(attemptOver)
		w.unlisted("i-1")
		intent := w.intent("i-1")
		intent.RenewedAt = operation.Instant(w.now())
		doc := w.document("intents/i-1")
		if _, err := w.store.Commit(w.ctx, ledger.Write{Path: doc.Path, Token: doc.Token, Data: intent}); err != nil {
			w.Fatal(err)
		}
		w.decided("i-1", "again", ledger.MustWait) // the list was read before that attempt
		withdrawn, err := w.ledger().Intents.Withdraw(w.ctx, "i-1", "new")
		equal(w, "withdrawn", withdrawn || err != nil, false)
		w.store.Advance(attemptOver)
		w.unlisted("i-1")
		w.decided("i-1", "again", ledger.MaySubmit)
	}},
}
