package ledgertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

var effectContinue = join([]ledgerTest{
	{"continuing counts no attempt, and the effect is claimable at once [S4]", func(w *world) {
		w.succeed()
		w.outbox.sent()
		for i := range int64(5) {
			lease := w.granted(publish)
			equal(w, "attempt", lease.Attempt, 1)
			equal(w, "fence", lease.Fence, i+1)
			w.recordItems(lease, lease.Progress, numbered(i, 1))
			if unsent, err := w.ledger().Effects.Continue(w.ctx, lease); unsent != nil || err != nil {
				w.Fatalf("Continue: %v, %v", unsent, err)
			}
			equal(
				w, "sent", fmt.Sprint(w.outbox.sent()),
				fmt.Sprint([]ledger.Message{{Operation: w.name.Key, Effect: publish, Attempt: 1}}),
			)
		}
		equal(w, "state", w.effect(publish).State, ledger.EffectPending)
		equal(w, "due", len(w.dueEffects().Items), 1)
		w.outbox.err = errFailed
		lease := w.granted(publish)
		if unsent, err := w.ledger().Effects.Continue(w.ctx, lease); !errors.Is(unsent, errFailed) || err != nil {
			w.Errorf("Continue: %v, %v", unsent, err)
		}
	}},
	{"an effect that is postponed counts no attempt and no failure, and waits [S4]", func(w *world) {
		w.succeed()
		w.outbox.sent()
		for range 12 {
			lease := w.granted(publish)
			equal(w, "attempt", lease.Attempt, 1)
			if err := w.ledger().Effects.Postpone(w.ctx, lease, errFailed, time.Minute); err != nil {
				w.Fatalf("Postpone: %v", err)
			}
			w.store.Advance(time.Minute - time.Second)
			equal(w, "verdict", w.claim(publish).Verdict, ledger.BackingOff)
			equal(w, "due", len(w.dueEffects().Items), 0)
			w.store.Advance(time.Second)
			equal(w, "due", len(w.dueEffects().Items), 1)
		}
		e := w.effect(publish)
		equal(w, "sent", len(w.outbox.sent()), 0)
		equal(w, "failing", e.Failing == nil && e.LastError == "", true)
		equal(w, "attempts in its history", len(e.History), 1)
		equal(w, "what it waits for", e.History[0].Error, errFailed.Error())
		if err := w.ledger().Effects.Finish(w.ctx, w.granted(publish)); err != nil {
			w.Fatalf("Finish: %v", err)
		}
		equal(w, "what it waits for, once it is done", w.effect(publish).History[0].Error, "")
	}},
	{"without a publisher the rest waits for the sweep, and the caller is told so [S4]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		l, err := ledger.New(w.store, w.settings, ledger.Options{})
		if err != nil {
			w.Fatal(err)
		}
		if unsent, err := l.Effects.Continue(w.ctx, lease); unsent == nil || err != nil {
			w.Errorf("Continue: %v, %v", unsent, err)
		}
		equal(w, "due", len(w.dueEffects().Items), 1)
	}},
},
	lostly("Continue: continued, once [S4]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		lease := w.granted(publish)
		w.outbox.sent()
		if unsent, err := l.Effects.Continue(w.ctx, lease); unsent != nil || err != nil {
			w.Fatalf("Continue: %v, %v", unsent, err)
		}
		equal(w, "attempts", w.effect(publish).Attempts, 0)
		equal(
			w, "sent", fmt.Sprint(w.outbox.sent()),
			fmt.Sprint([]ledger.Message{{Operation: w.name.Key, Effect: publish, Attempt: 1}}),
		)
	}),
)
