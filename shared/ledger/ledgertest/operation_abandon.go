package ledgertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

var givingUp = ledger.Decision{By: "ops@example.com", Why: "its key was deleted"}

// abandoning is a move that abandons the world's operation; ErrSettled is no error, and
// noted.
func (w *world) abandoning(ended *bool) move {
	return func(l *ledger.Ledger) error {
		_, err := l.Operations.Abandon(w.ctx, w.name.Key, givingUp)
		if *ended = errors.Is(err, ledger.ErrSettled); *ended {
			return nil
		}
		return err
	}
}

// abandon abandons the world's operation.
func (w *world) abandon() operation.Decided {
	w.Helper()
	a, err := w.ledger().Operations.Abandon(w.ctx, w.name.Key, givingUp)
	if err != nil {
		w.Fatalf("Abandon: %v", err)
	}
	return a
}

// waive abandons a dead effect of the world's operation.
func (w *world) waive(effect string) operation.Decided {
	w.Helper()
	a, err := w.ledger().Effects.Waive(w.ctx, w.name.Key, effect, givingUp)
	if err != nil {
		w.Fatalf("Effects.Waive: %v", err)
	}
	return a
}

// markDead marks an effect of the world's operation dead.
func (w *world) markDead(effect string) {
	w.Helper()
	if err := w.ledger().Effects.MarkDead(w.ctx, w.granted(effect), errFailed); err != nil {
		w.Fatalf("MarkDead: %v", err)
	}
}

// waivedForGood checks that the effect "publish" was waived, and that it and its record expire.
func (w *world) waivedForGood() {
	w.Helper()
	effect := w.effect(publish)
	if effect.State != ledger.EffectDead || effect.Abandoned == nil || effect.Abandoned.Why != givingUp.Why ||
		effect.Abandoned.By != givingUp.By {
		w.Errorf("the effect: %+v", effect)
	}
	equal(w, "the record", w.record().Effects[publish], operation.EffectWaived)
	w.lives("waived", false, w.settings.Retention)
	near(w, "the effect expires in", effect.ExpireAt.Sub(w.now()), 2*w.settings.Retention)
}

var operationAbandon = join([]ledgerTest{
	{"an abandoned operation is no longer waited for, and neither ended nor deleted [R4, L3, M7]", func(w *world) {
		w.paged()
		w.register()
		w.note(ledger.ConditionNotFound)
		a := w.abandon()
		if a.By != givingUp.By || a.Why != givingUp.Why {
			w.Errorf("abandoned: %+v", a)
		}
		near(w, "abandoned at", a.At.Sub(w.start), 0)
		w.store.Advance(100 * day)
		w.lives("abandoned", false, 0)
		equal(w, "state", w.record().State, operation.Pending)
		equal(w, "due", len(w.dueOperations().Items), 0)
		equal(w, "listed as waited for", len(w.list(ledger.Filter{Pending: true})), 0)
		if n := w.note(ledger.ConditionNotFound); n.Alert || n.Planned != 0 {
			w.Errorf("an abandoned operation alerts as missing: %+v", n)
		}
		w.register()
		w.lives("abandoned, and registered again", false, 0)
		w.ingest(w.event("d1", operation.Running, time.Second))
		w.lives("abandoned, and running", false, 0)
	}},
	{"the first abandonment stands [R4]", func(w *world) {
		w.register()
		first := w.abandon()
		w.store.Advance(day)
		second, err := w.ledger().
			Operations.Abandon(w.ctx, w.name.Key, ledger.Decision{By: "another operator", Why: "something else"})
		if err != nil || second.Why != first.Why || !second.At.Equal(first.At) {
			w.Errorf("%+v, then %+v, %v", first, second, err)
		}
		equal(w, "version", w.record().Version, 2)
	}},
	{"a completion counts all the same [R4]", func(w *world) {
		w.register()
		w.abandon()
		equal(w, "outcome", w.ingest(w.event("d1", operation.Succeeded, time.Second)).Outcome, ledger.Applied)
		w.plannedOnce()
		w.finish(w.granted(publish))
		w.lives("abandoned, succeeded and done", false, w.settings.Retention)
		equal(w, "why is kept", w.record().Abandoned.Why, givingUp.Why)
	}},
	{"what cannot be abandoned [R4]", func(w *world) {
		check := func(what string, want error) {
			w.Helper()
			if _, err := w.ledger().Operations.Abandon(w.ctx, w.name.Key, givingUp); !errors.Is(err, want) {
				w.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		check("not there", ledger.ErrNotFound)
		w.ingest(w.event("d1", operation.Running, time.Second))
		check("not registered", ledger.ErrUnregistered)
		w.succeed()
		check("ended", ledger.ErrSettled)
		if _, err := w.ledger().Operations.Abandon(w.ctx, w.name.Key, ledger.Decision{By: "me"}); !errors.Is(
			err, ledger.ErrNoReason,
		) {
			w.Errorf("without a reason: %v", err)
		}
	}},
	{"a dead effect is waived and no longer keeps its record [L3]", func(w *world) {
		w.succeed()
		w.markDead(publish)
		w.store.Advance(100 * day)
		first := w.waive(publish)
		w.waivedForGood()
		w.store.Advance(time.Hour)
		version := w.effect(publish).Version
		equal(w, "the first stands", w.waive(publish), first)
		equal(w, "version", w.effect(publish).Version, version)
		equal(w, "claim", w.claim(publish).Verdict, ledger.Dead)
		// A record that is created again shows it as waived.
		w.delete(ledger.OperationPath(w.name.Key))
		w.register()
		e := w.lookup(operation.Succeeded, 0)
		e.UpdateTime = time.Time{}
		w.ingest(e)
		equal(w, "in a record created again", w.record().Effects[publish], operation.EffectWaived)
	}},
	{"only a dead effect is waived [S2]", func(w *world) {
		check := func(what string, want error) {
			w.Helper()
			if _, err := w.ledger().Effects.Waive(w.ctx, w.name.Key, publish, givingUp); !errors.Is(err, want) {
				w.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		check("not there", ledger.ErrNotFound)
		w.succeed()
		check("pending", ledger.ErrNotDead)
		lease := w.granted(publish)
		check("claimed", ledger.ErrNotDead)
		w.finish(lease)
		check("done", ledger.ErrNotDead)
		if _, err := w.ledger().Effects.Waive(w.ctx, w.name.Key, publish, ledger.Decision{}); !errors.Is(
			err, ledger.ErrNoReason,
		) {
			w.Errorf("without a reason: %v", err)
		}
	}},
	{"an alert without a record is waived, too [R4, L3]", func(w *world) {
		w.paged()
		if err := w.alerting("webhooks/w1", new(ledger.Alerted))(w.ledger()); err != nil {
			w.Fatal(err)
		}
		w.name.Key = "webhooks/w1"
		name := w.alertsOf(w.name.Key)[0]
		w.markDead(name)
		w.waive(name)
		equal(w, "it expires", w.effect(name).ExpireAt.IsZero(), false)
		equal(w, "a record", w.document(ledger.OperationPath(w.name.Key)).Exists(), false)
	}},
},
	both("abandoning against the completion [R4, M6]", func(w *world) (a, b move, check func()) {
		w.register()
		var ended bool
		var hook ledger.Receipt
		return w.abandoning(&ended), w.ingesting(w.event("d1", operation.Succeeded, time.Second), &hook), func() {
			equal(w, "outcome", hook.Outcome, ledger.Applied)
			equal(w, "abandoned, unless it had ended", w.record().Abandoned != nil, !ended)
			w.plannedOnce()
			w.lives("succeeded", false, 0)
		}
	}),
	both("abandoning against a pass [R4, R6]", func(w *world) (a, b move, check func()) {
		w.register()
		due, now := w.pass()
		won := 0
		var ended bool
		return w.abandoning(&ended), w.postponing(due, now, &won), func() {
			equal(w, "attempts", w.record().LookUps, won)
			w.lives("abandoned", false, 0)
		}
	}),
	both("waiving one effect against finishing another [L3, M6]", func(w *world) (a, b move, check func()) {
		w.settings.Rules = append(w.settings.Rules, ledger.Rule{Name: "second", On: []operation.State{operation.Succeeded}})
		w.register()
		w.ingest(w.event("d1", operation.Succeeded, time.Second))
		w.markDead(publish)
		lease := w.granted("second")
		return func(l *ledger.Ledger) error {
				_, err := l.Effects.Waive(w.ctx, w.name.Key, publish, givingUp)
				return err
			}, func(l *ledger.Ledger) error { return l.Effects.Finish(w.ctx, lease) }, func() {
				rec := w.record()
				equal(w, "the effects", fmt.Sprint(rec.Effects), "map[publish:waived second:done]")
				w.lives("all closed", false, w.settings.Retention)
			}
	}),
	lostly("Abandon: once [R4]", func(w *world, l *ledger.Ledger) {
		w.register()
		if _, err := l.Operations.Abandon(w.ctx, w.name.Key, givingUp); err != nil {
			w.Errorf("Abandon: %v", err)
		}
		equal(w, "version", w.record().Version, 2)
		w.lives("abandoned", false, 0)
	}),
	[]ledgerTest{{"Abandon, and it ended before one could look again [R4]", func(w *world) {
		w.register()
		l := w.over(
			Inject(afterCommit{w.store, func() { w.ingest(w.event("d1", operation.Succeeded, time.Second)) }}, LoseAnswer),
		)
		if a, err := l.Operations.Abandon(w.ctx, w.name.Key, givingUp); err != nil || a.Why != givingUp.Why {
			w.Errorf("%+v, %v", a, err)
		}
		w.plannedOnce()
	}}},
	lostly("Effects.Waive: once [L3]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		w.markDead(publish)
		if _, err := l.Effects.Waive(w.ctx, w.name.Key, publish, givingUp); err != nil {
			w.Errorf("Effects.Waive: %v", err)
		}
		w.waivedForGood()
	}),
)
