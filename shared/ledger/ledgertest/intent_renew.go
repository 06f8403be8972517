package ledgertest

import (
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// attemptOver is how long after an attempt Gemini's list is read [G6].
const attemptOver = 5 * time.Minute

// renewing is a move of a submitter that comes back.
func (w *world) renewing(id, attempt string, may *int) move {
	return func(l *ledger.Ledger) error {
		intent, err := w.asks(l, id, attempt)
		if intent.Verdict == ledger.MaySubmit {
			*may++
		}
		return err
	}
}

// asks records the intent as a submitter that may have asked before, for its attempt.
func (w *world) asks(l *ledger.Ledger, id, attempt string) (ledger.Intent, error) {
	i := w.intention(id)
	i.Attempt = attempt
	return l.Intents.Intend(w.ctx, i)
}

// decided wants the verdict that an attempt at an intent is answered.
func (w *world) decided(id, attempt string, want ledger.IntentVerdict) ledger.Intent {
	w.Helper()
	intent, err := w.asks(w.ledger(), id, attempt)
	if err != nil {
		w.Fatal(err)
	}
	equal(w, "the verdict for "+attempt, intent.Verdict, want)
	return intent
}

// waitingIntent returns an intent as a pass finds it.
func (w *world) waitingIntent(id string) ledger.DueIntent {
	w.Helper()
	page, err := w.ledger().Intents.Waiting(w.ctx, ledger.Cursor{}, 100)
	if err != nil {
		w.Fatal(err)
	}
	for _, item := range page.Items {
		if item.Intent.CorrelationID == id {
			return item
		}
	}
	w.Fatalf("the intent %s does not wait", id)
	return ledger.DueIntent{}
}

// unlisted is what a pass does that begins now and reads Gemini's list in vain.
func (w *world) unlisted(id string) {
	w.Helper()
	snapshot, err := w.store.Get(w.ctx)
	if err != nil {
		w.Fatal(err)
	}
	now := snapshot.ReadTime
	due := w.waitingIntent(id).Unlisted(snapshot.Leapt, now)
	if _, err := w.ledger().Intents.Postpone(w.ctx, due, now); err != nil {
		w.Fatal(err)
	}
}

// renewed is what a submitter does that comes back after a pass that read Gemini's list in vain.
func (w *world) renewed(id string) ledger.Intent {
	w.Helper()
	w.unlisted(id)
	return w.decided(id, "again", ledger.MaySubmit)
}

// withdrawing is a move that withdraws the intent.
func (w *world) withdrawing(id, attempt string, withdrawn *bool) move {
	return func(l *ledger.Ledger) (err error) {
		*withdrawn, err = l.Intents.Withdraw(w.ctx, id, attempt)
		return err
	}
}

// wantWaiting checks that exactly these intents are searched for.
func (w *world) wantWaiting(n int) {
	w.Helper()
	page, err := w.ledger().Intents.Waiting(w.ctx, ledger.Cursor{}, 100)
	if err != nil {
		w.Fatal(err)
	}
	equal(w, "intents that are looked for [G6]", len(page.Items), n)
}

// abandoned returns an intent that was given up, and is no longer searched for, which Gemini's list
// did not have.
func (w *world) abandoned(id string) ledger.Intent {
	w.Helper()
	w.overdue(id)
	w.giveUp()
	w.unlisted(id)
	w.endSearches()
	return w.intent(id)
}

// attemptOf is the id of an intent's last attempt.
func (w *world) attemptOf(id string) string {
	w.Helper()
	return w.intent(id).Attempt.ID
}

// What a submitter may do with an intent that is there already, and how one whose job was refused
// withdraws it.
var intentRenew = join(
	[]ledgerTest{
		{"a renewed intent is waited for as long as a new one, and keeps job kind and metadata [G6, R4]", func(w *world) {
			first := w.intend("i-1")
			w.store.Advance(w.settings.StuckAfter - time.Minute)
			renewed := w.renewed("i-1")
			stored := w.intent("i-1")
			equal(w, "the answer", renewed.Version, stored.Version)
			equal(w, "state", stored.State, ledger.IntentOpen)
			equal(w, "job kind", stored.JobKind, "intended-job")
			equal(w, "created at", stored.CreatedAt, first.CreatedAt)
			near(w, "renewed at", stored.RenewedAt.Sub(w.now()), 0)
			equal(w, "given up", stored.GiveUpAt.Sub(stored.RenewedAt), w.settings.StuckAfter)
			w.store.Advance(2 * time.Minute)
			equal(w, "due when the first was", len(w.dueIntents().Items), 0)
			w.decided("i-1", "another", ledger.MustWait) // the list was read before this attempt
		}},
		{"a renewed intent is looked for again after it was given up [G6]", func(w *world) {
			w.abandoned("i-1")
			w.wantWaiting(0) // the search has ended
			w.decided("i-1", "again", ledger.MaySubmit)
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
			equal(w, "bound to", w.decided("i-1", "again", ledger.IsBound).Operation, w.name.Key)
			w.boundTo("i-1")
		}},
		{"its submitter's answer was lost: it may ask again, for as long as it may submit [G6]", func(w *world) {
			w.decided("i-1", "mine", ledger.MaySubmit)
			w.store.Advance(ledger.SubmitWithin - time.Second)
			counting := Count(w.store)
			intent, err := w.asks(w.over(counting), "i-1", "mine")
			equal(w, "again", intent.Verdict == ledger.MaySubmit && err == nil, true)
			equal(w, "commits", counting.Counts().Commits, 0)
			w.decided("i-1", "another", ledger.MustWait)
			w.store.Advance(time.Second)
			w.decided("i-1", "mine", ledger.MustWait) // it may have submitted since
		}},
		{"what is not bound can be withdrawn, and its id is free again [G6]", func(w *world) {
			w.abandoned("i-2")
			w.intend("i-1")
			for _, id := range []string{"i-1", "i-2"} {
				if withdrawn, err := w.ledger().Intents.Withdraw(w.ctx, id, w.attemptOf(id)); err != nil || !withdrawn {
					w.Errorf("%s: %v, %v", id, withdrawn, err)
				}
				equal(w, "recorded again", w.intend(id).Created, true)
			}
		}},
		{"another's attempt is not withdrawn [G6]", func(w *world) {
			w.decided("i-1", "first", ledger.MaySubmit)
			w.store.Advance(attemptOver)
			w.renewed("i-1")
			for _, attempt := range []string{"first", ""} {
				withdrawn, err := w.ledger().Intents.Withdraw(w.ctx, "i-1", attempt)
				equal(w, "withdrawn by "+attempt, withdrawn || err != nil, false)
			}
			equal(w, "attempt", w.attemptOf("i-1"), "again")
		}},
		{"what is known of an operation stays [G6, K6]", func(w *world) {
			w.ingest(w.intended("d1", "i-seen", operation.Running, time.Second))
			w.intend("i-bound")
			attempt := w.attemptOf("i-bound")
			w.name = nameOf(w, "batches/bound")
			if _, err := w.ledger().Operations.Register(w.ctx, w.correlated("i-bound")); err != nil {
				w.Fatal(err)
			}
			counting := Count(w.store)
			for id, gone := range map[string]bool{"i-seen": false, "i-bound": false, "i-absent": true} {
				if withdrawn, err := w.over(counting).Intents.Withdraw(w.ctx, id, attempt); err != nil || withdrawn != gone {
					w.Errorf("%s: %v, %v", id, withdrawn, err)
				}
			}
			equal(w, "commits", counting.Counts().Commits, 0)
		}},
		{"Withdraw: the answer is lost, and the id recorded again before the next try [G6]", func(w *world) {
			w.intend("i-1")
			l := w.over(Inject(afterCommit{w.store, func() { w.intend("i-1") }}, LoseAnswer))
			if _, err := l.Intents.Withdraw(w.ctx, "i-1", w.attemptOf("i-1")); err != nil {
				w.Error(err)
			}
			equal(w, "the new one", w.intent("i-1").State, ledger.IntentOpen)
		}},
		{"Intend: the answer is lost, and the intent bound before the next try [G6]", func(w *world) {
			w.abandoned("i-1")
			l := w.over(Inject(afterCommit{w.store, func() {
				w.ingest(w.intended("d1", "i-1", operation.Succeeded, time.Second))
			}}, LoseAnswer))
			if intent, err := w.asks(l, "i-1", "again"); err != nil || intent.Verdict != ledger.IsBound {
				w.Errorf("%+v, %v", intent, err)
			}
			w.boundTo("i-1")
			w.plannedOnce()
		}},
	},
	lostly("Intend: renewed, by this call, once [G6]", func(w *world, l *ledger.Ledger) {
		intent := w.abandoned("i-1")
		renewed, err := w.asks(l, "i-1", "again")
		if err != nil || renewed.State != ledger.IntentOpen || renewed.RenewedAt.IsZero() ||
			renewed.Verdict != ledger.MaySubmit {
			w.Errorf("%+v, %v", renewed, err)
		}
		equal(w, "version", w.intent("i-1").Version, intent.Version+1)
		w.wantWaiting(1)
	}),
	lostly("Withdraw: withdrawn, by this call [G6]", func(w *world, l *ledger.Ledger) {
		w.intend("i-1")
		if withdrawn, err := l.Intents.Withdraw(w.ctx, "i-1", w.attemptOf("i-1")); err != nil || !withdrawn {
			w.Errorf("%v, %v", withdrawn, err)
		}
		equal(w, "version", w.intent("i-1").Version, 0)
	}),
	both("renewing against binding [G6]", func(w *world) (a, b move, check func()) {
		w.abandoned("i-1")
		may := 0
		var hook ledger.Receipt
		b = w.ingesting(w.intended("d1", "i-1", operation.Succeeded, time.Second), &hook)
		return w.renewing("i-1", "again", &may), b, func() {
			equal(w, "bound", hook.Bound, true)
			equal(w, "renewed before", !w.intent("i-1").RenewedAt.IsZero(), may == 1)
			w.boundTo("i-1")
			w.plannedOnce()
		}
	}),
	both("two submitters renew one intent [G6]", func(w *world) (a, b move, check func()) {
		w.intend("i-1")
		w.store.Advance(attemptOver)
		w.unlisted("i-1")
		may := 0
		return w.renewing("i-1", "a", &may), w.renewing("i-1", "b", &may), func() {
			equal(w, "may submit", may, 1)
			equal(w, "version", w.intent("i-1").Version, 3)
		}
	}),
	both("two submitters record one intent [G6]", func(w *world) (a, b move, check func()) {
		may := 0
		return w.renewing("i-1", "a", &may), w.renewing("i-1", "b", &may), func() {
			equal(w, "may submit", may, 1)
		}
	}),
	both("a pass that read the list against a submitter that renews [G6]", func(w *world) (a, b move, check func()) {
		w.intend("i-1")
		w.store.Advance(attemptOver)
		w.unlisted("i-1")
		due, may := w.waitingIntent("i-1"), 0
		now := w.now()
		return w.renewing("i-1", "a", &may), func(l *ledger.Ledger) error {
				if _, err := l.Intents.Postpone(w.ctx, due.Unlisted(time.Time{}, now), now); !isConflict(err) {
					return err
				}
				return nil
			}, func() {
				equal(w, "may submit", may, 1)
				w.decided("i-1", "b", ledger.MustWait)
			}
	}),
	both("giving up against renewing [G6]", func(w *world) (a, b move, check func()) {
		w.intend("i-1")
		w.store.Advance(attemptOver)
		w.unlisted("i-1")
		w.store.Advance(w.settings.StuckAfter)
		due, gaveUp, may := w.waitingIntent("i-1"), 0, 0
		return w.givingUp(due, &gaveUp), w.renewing("i-1", "again", &may), func() {
			equal(w, "may submit", may, 1)
			equal(w, "open", w.intent("i-1").State, ledger.IntentOpen)
			equal(w, "given up", w.intent("i-1").AbandonedAt.IsZero(), true)
		}
	}),
	both("withdrawing against binding [G6]", func(w *world) (a, b move, check func()) {
		w.intend("i-1")
		var withdrawn bool
		var hook ledger.Receipt
		b = w.ingesting(w.intended("d1", "i-1", operation.Succeeded, time.Second), &hook)
		return w.withdrawing("i-1", w.attemptOf("i-1"), &withdrawn), b, func() {
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
		w.intend("i-1")
		first := w.attemptOf("i-1")
		w.store.Advance(attemptOver)
		w.unlisted("i-1")
		may := 0
		var withdrawn bool
		return w.withdrawing("i-1", first, &withdrawn), w.renewing("i-1", "again", &may), func() {
			equal(w, "may submit", may, 1) // after the withdrawal it is a new intent
			w.wantWaiting(1)
			equal(w, "attempt", w.attemptOf("i-1"), "again")
		}
	}),
	both("withdrawing against giving up [G6]", func(w *world) (a, b move, check func()) {
		due, gaveUp := w.overdue("i-1"), 0
		var withdrawn bool
		return w.withdrawing("i-1", due.Intent.Attempt.ID, &withdrawn), w.givingUp(due, &gaveUp), func() {
			equal(w, "withdrawn", withdrawn, true)
			equal(w, "version", w.intent("i-1").Version, 0)
		}
	}),
	intentVerdict,
)
