package ledgertest

import (
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// renewing is a move that renews the intent; ErrConflict is no error.
func (w *world) renewing(intent ledger.Intent, won *int) move {
	return func(l *ledger.Ledger) error {
		_, err := l.Renew(w.ctx, intent)
		if isConflict(err) {
			return nil
		}
		*won++
		return err
	}
}

// withdrawing is a move that withdraws the intent.
func (w *world) withdrawing(id string, withdrawn *bool) move {
	return func(l *ledger.Ledger) (err error) {
		*withdrawn, err = l.Withdraw(w.ctx, id)
		return err
	}
}

// wantWaiting checks that exactly these intents are searched for.
func (w *world) wantWaiting(n int) {
	w.Helper()
	page, err := w.ledger().WaitingIntents(w.ctx, ledger.Cursor{}, 100)
	if err != nil {
		w.Fatal(err)
	}
	equal(w, "intents that are looked for [G6]", len(page.Items), n)
}

// abandoned returns an intent that was given up, and is no longer searched for.
func (w *world) abandoned(id string) ledger.Intent {
	w.Helper()
	w.overdue(id)
	w.giveUp()
	w.endSearches()
	return w.intend(id)
}

// A restarted submitter renews its intent before it submits, and one whose job was refused
// withdraws it.
var intentRenew = join(
	[]ledgerTest{
		{"a renewed intent is waited for as long as a new one, and keeps job kind and metadata [G6, R4]", func(w *world) {
			first := w.intend("i-1")
			w.store.Advance(w.settings.StuckAfter - time.Minute)
			renewed, err := w.ledger().Renew(w.ctx, first)
			if err != nil {
				w.Fatal(err)
			}
			stored := w.intent("i-1")
			equal(w, "the answer", renewed.Version, stored.Version)
			equal(w, "state", stored.State, ledger.IntentOpen)
			equal(w, "job kind", stored.JobKind, "intended-job")
			equal(w, "created at", stored.CreatedAt, first.CreatedAt)
			near(w, "renewed at", stored.RenewedAt.Sub(w.now()), 0)
			equal(w, "due", stored.DueAt.Sub(stored.RenewedAt), w.settings.StuckAfter)
			w.store.Advance(2 * time.Minute)
			equal(w, "due when the first was", len(w.dueIntents().Items), 0)
			if _, err := w.ledger().Renew(w.ctx, first); !isConflict(err) {
				w.Errorf("with what was found before: %v, want ErrConflict", err)
			}
			if _, err := w.ledger().Renew(w.ctx, renewed); err != nil {
				w.Errorf("with what is there: %v", err)
			}
		}},
		{"a renewed intent is looked for again after it was given up [G6]", func(w *world) {
			intent := w.abandoned("i-1")
			w.wantWaiting(0) // the search has ended
			if _, err := w.ledger().Renew(w.ctx, intent); err != nil {
				w.Fatal(err)
			}
			stored := w.intent("i-1")
			equal(w, "state", stored.State, ledger.IntentOpen)
			equal(w, "abandoned at", stored.AbandonedAt.IsZero(), true)
			w.wantWaiting(1)
			r := w.ingest(w.intended("d1", "i-1", operation.Succeeded, time.Second))
			equal(w, "bound", r.Bound, true)
			equal(w, "submitted at", w.record().SubmittedAt, stored.RenewedAt)
			w.boundTo("i-1")
			w.plannedOnce()
		}},
		{"what waits for nothing is not renewed [G6]", func(w *world) {
			w.intend("i-1")
			w.ingest(w.intended("d1", "i-1", operation.Succeeded, time.Second))
			if _, err := w.ledger().Renew(w.ctx, w.intend("i-1")); !isConflict(err) {
				w.Errorf("bound: %v, want ErrConflict", err)
			}
			if _, err := w.ledger().Renew(w.ctx, ledger.Intent{CorrelationID: "i-2"}); !isConflict(err) {
				w.Errorf("absent: %v, want ErrConflict", err)
			}
			w.boundTo("i-1")
		}},
		{"what is not bound can be withdrawn, and its id is free again [G6]", func(w *world) {
			w.abandoned("i-2")
			w.intend("i-1")
			old := w.intend("i-3")
			for _, id := range []string{"i-1", "i-2", "i-3"} {
				if withdrawn, err := w.ledger().Withdraw(w.ctx, id); err != nil || !withdrawn {
					w.Errorf("%s: %v, %v", id, withdrawn, err)
				}
				equal(w, "recorded again", w.intend(id).Created, true)
			}
			if _, err := w.ledger().Renew(w.ctx, old); !isConflict(err) {
				w.Errorf("another life of the id: %v, want ErrConflict", err)
			}
		}},
		{"what is known of an operation stays [G6, K6]", func(w *world) {
			w.ingest(w.intended("d1", "i-seen", operation.Running, time.Second))
			w.name = nameOf(w, "batches/bound")
			if _, err := w.ledger().Register(w.ctx, w.correlated("i-bound")); err != nil {
				w.Fatal(err)
			}
			counting := Count(w.store)
			for _, id := range []string{"i-seen", "i-bound", "i-absent"} {
				if withdrawn, err := w.over(counting).Withdraw(w.ctx, id); err != nil || withdrawn {
					w.Errorf("%s: %v, %v", id, withdrawn, err)
				}
			}
			equal(w, "commits", counting.Counts().Commits, 0)
		}},
		{"Withdraw: the answer is lost, and the id recorded again before the next try [G6]", func(w *world) {
			w.intend("i-1")
			l := w.over(Inject(afterCommit{w.store, func() { w.intend("i-1") }}, LoseAnswer))
			if withdrawn, err := l.Withdraw(w.ctx, "i-1"); err != nil || !withdrawn {
				w.Errorf("%v, %v", withdrawn, err)
			}
			equal(w, "the new one", w.intent("i-1").State, ledger.IntentOpen)
		}},
		{"Renew: the answer is lost, and the intent bound before the next try [G6]", func(w *world) {
			intent := w.intend("i-1")
			l := w.over(Inject(afterCommit{w.store, func() {
				w.ingest(w.intended("d1", "i-1", operation.Succeeded, time.Second))
			}}, LoseAnswer))
			if _, err := l.Renew(w.ctx, intent); !isConflict(err) {
				w.Errorf("%v, want ErrConflict", err)
			}
			w.boundTo("i-1")
			w.plannedOnce()
		}},
	},
	lostly("Renew: renewed, by this call, once [G6]", func(w *world, l *ledger.Ledger) {
		intent := w.abandoned("i-1")
		renewed, err := l.Renew(w.ctx, intent)
		if err != nil || renewed.State != ledger.IntentOpen || renewed.RenewedAt.IsZero() {
			w.Errorf("%+v, %v", renewed, err)
		}
		equal(w, "version", w.intent("i-1").Version, intent.Version+1)
		w.wantWaiting(1)
	}),
	lostly("Withdraw: withdrawn, by this call [G6]", func(w *world, l *ledger.Ledger) {
		w.intend("i-1")
		if withdrawn, err := l.Withdraw(w.ctx, "i-1"); err != nil || !withdrawn {
			w.Errorf("%v, %v", withdrawn, err)
		}
		equal(w, "version", w.intent("i-1").Version, 0)
	}),
	both("renewing against binding [G6]", func(w *world) (a, b move, check func()) {
		intent, won := w.abandoned("i-1"), 0
		var hook ledger.Receipt
		b = w.ingesting(w.intended("d1", "i-1", operation.Succeeded, time.Second), &hook)
		return w.renewing(intent, &won), b, func() {
			equal(w, "bound", hook.Bound, true)
			equal(w, "renewed before", !w.intent("i-1").RenewedAt.IsZero(), won == 1)
			w.boundTo("i-1")
			w.plannedOnce()
		}
	}),
	both("two submitters renew one intent [G6]", func(w *world) (a, b move, check func()) {
		intent, won := w.intend("i-1"), 0
		return w.renewing(intent, &won), w.renewing(intent, &won), func() {
			equal(w, "may submit", won, 1)
			equal(w, "version", w.intent("i-1").Version, 2)
		}
	}),
	both("giving up against renewing [G6]", func(w *world) (a, b move, check func()) {
		due, gaveUp, renewed := w.overdue("i-1"), 0, 0
		return w.givingUp(due, &gaveUp), w.renewing(due.Intent, &renewed), func() {
			equal(w, "that changed it", gaveUp+renewed, 1)
			equal(w, "open", w.intent("i-1").State == ledger.IntentOpen, renewed == 1)
		}
	}),
	both("withdrawing against binding [G6]", func(w *world) (a, b move, check func()) {
		w.intend("i-1")
		var withdrawn bool
		var hook ledger.Receipt
		b = w.ingesting(w.intended("d1", "i-1", operation.Succeeded, time.Second), &hook)
		return w.withdrawing("i-1", &withdrawn), b, func() {
			equal(w, "either", withdrawn, !hook.Bound)
			if hook.Bound {
				w.boundTo("i-1")
				w.plannedOnce()
				return
			}
			equal(w, "registered by a stranger [W5]", w.record().Registered, false)
			equal(w, "the id", w.intent("i-1").State, ledger.IntentSeen)
		}
	}),
	both("withdrawing against renewing [G6]", func(w *world) (a, b move, check func()) {
		intent, renewed := w.intend("i-1"), 0
		var withdrawn bool
		return w.withdrawing("i-1", &withdrawn), w.renewing(intent, &renewed), func() {
			equal(w, "either", withdrawn, renewed == 0)
			w.wantWaiting(renewed)
		}
	}),
	both("withdrawing against giving up [G6]", func(w *world) (a, b move, check func()) {
		due, gaveUp := w.overdue("i-1"), 0
		var withdrawn bool
		return w.withdrawing("i-1", &withdrawn), w.givingUp(due, &gaveUp), func() {
			equal(w, "withdrawn", withdrawn, true)
			equal(w, "version", w.intent("i-1").Version, 0)
		}
	}),
)
