package ledgertest

import (
	"errors"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

var intentAbandon = []ledgerTest{
	{"an OPEN intent is due when it waited for long, and can be given up [G6, R4]", func(w *world) {
		i := w.intention("i-1")
		i.Collection = "" // so that no list is read for it
		if _, err := w.ledger().Intents.Intend(w.ctx, i); err != nil {
			w.Fatal(err)
		}
		w.store.Advance(w.settings.StuckAfter - time.Minute)
		equal(w, "due before", len(w.dueIntents().Items), 0)
		w.store.Advance(2 * time.Minute)
		items := w.dueIntents().Items
		if len(items) != 1 || items[0].Intent.CorrelationID != "i-1" {
			w.Fatalf("due: %+v", items)
		}
		now := w.now()
		if _, err := w.ledger().Intents.Abandon(w.ctx, items[0], now, ""); err != nil {
			w.Fatal(err)
		}
		intent := w.intent("i-1")
		equal(w, "state", intent.State, ledger.IntentAbandoned)
		equal(w, "abandoned at", intent.AbandonedAt, now)
		equal(w, "due to the next pass", len(w.dueIntents().Items), 0)
		if _, err := w.ledger().Intents.Abandon(w.ctx, items[0], now, ""); !isConflict(err) {
			w.Errorf("again: %v, want ErrConflict", err)
		}
		equal(w, "recorded again", w.intend("i-1").State, ledger.IntentAbandoned)
	}},
	{"an operator ends the waiting for an intent; of several decisions the first stands [G6, R4]", func(w *world) {
		w.intend("i-1")
		stands, err := w.ledger().Intents.AbandonBy(w.ctx, "i-1", givingUp)
		again, againErr := w.ledger().Intents.AbandonBy(w.ctx, "i-1", ledger.Decision{By: "another", Why: "too"})
		intent := w.intent("i-1")
		decided, ok := intent.Decision()
		if err != nil || againErr != nil || !ok || again != stands || decided != stands || stands.By != givingUp.By {
			w.Errorf("%+v %v, %+v %v; stored %+v", stands, err, again, againErr, intent)
		}
		equal(w, "state", intent.State, ledger.IntentAbandoned)
		equal(w, "given up at", intent.AbandonedAt, stands.At)
		w.store.Advance(w.settings.StuckAfter + time.Second)
		equal(w, "searched for still", len(w.dueIntents().Items), 1)
		equal(w, "overdue", intent.Overdue(w.now()), false)
		w.store.Advance(time.Second)
		w.renewed("i-1")
		_, ok = w.intent("i-1").Decision()
		equal(w, "decided about a later attempt", ok, false)
		w.store.Advance(w.settings.StuckAfter + time.Second)
		w.giveUp()
		late, err := w.ledger().Intents.AbandonBy(w.ctx, "i-1", givingUp)
		equal(w, "decided after it was given up", err == nil && late.At.After(stands.At), true)
		equal(w, "given up by the pass, before", w.intent("i-1").AbandonedAt.After(late.At), false)
	}},
	{"only an intent that waits can be abandoned, with a reason [G6]", func(w *world) {
		w.intend("i-1")
		if _, err := w.ledger().Operations.Register(w.ctx, w.correlated("i-2")); err != nil {
			w.Fatal(err)
		}
		for _, c := range []struct {
			id   string
			by   ledger.Decision
			want error
		}{
			{"i-1", ledger.Decision{By: "me"}, ledger.ErrNoReason}, {"i-2", givingUp, ledger.ErrIntentInUse},
			{"none", givingUp, ledger.ErrNoIntent},
		} {
			if _, err := w.ledger().Intents.AbandonBy(w.ctx, c.id, c.by); !errors.Is(err, c.want) {
				w.Errorf("%s: %v, want %v", c.id, err, c.want)
			}
		}
		equal(w, "state", w.intent("i-1").State, ledger.IntentOpen)
		equal(w, "of the other", w.intent("i-2").State, ledger.IntentBound)
	}},
}
