package ledgertest

import (
	"context"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// alertRaces: concurrent alerts, and alerts whose answer was lost, plan one effect in a period
// [R4].
var alertRaces = join(
	both("two passes find an operation stuck [R4, R6]", func(w *world) (a, b move, check func()) {
		w.paged()
		due, now := w.stuck()
		won := 0
		return w.postponing(due, now, &won), w.postponing(due, now, &won), func() {
			equal(w, "passes that have it", won, 1)
			w.published("page@stuck-1")
			equal(w, "effects", len(w.show().Effects), 1)
		}
	}),
	both("a pass that finds it stuck against its end [R4, M6]", func(w *world) (a, b move, check func()) {
		w.paged()
		due, now := w.stuck()
		won := 0
		var hook ledger.Receipt
		return w.postponing(due, now, &won), w.ingesting(w.event("d1", operation.Succeeded, time.Second), &hook), func() {
			rec := w.record()
			equal(w, "the end", rec.State, operation.Succeeded)
			equal(w, "its effect", rec.Effects[publish], operation.EffectOpen)
			equal(w, "the alert is there as the record says", w.effect("page@stuck-1").State == ledger.EffectPending,
				rec.Effects["page@stuck-1"] == operation.EffectOpen)
		}
	}),
	both("two alerts about one subject [R4, S3]", func(w *world) (a, b move, check func()) {
		w.paged()
		var one, two ledger.Alerted
		return w.alerting("webhooks/w1", &one), w.alerting("webhooks/w1", &two), func() {
			equal(w, "planned", one.Planned+two.Planned, 1)
			equal(w, "effects", len(w.alertsOf("webhooks/w1")), 1)
			equal(w, "published", len(w.outbox.sent()), 1)
		}
	}),
	[]ledgerTest{{"an alert that another pass plans between two reads counts [R4, S3]", func(w *world) {
		w.paged()
		slow := &betweenReads{Store: w.store}
		slow.act = func() {
			w.store.Advance(time.Second)
			if err := w.alerting("webhooks/w1", new(ledger.Alerted))(w.ledger()); err != nil {
				w.Error(err)
			}
		}
		if err := w.alerting("webhooks/w1", new(ledger.Alerted))(w.over(slow)); err != nil {
			w.Error(err)
		}
		equal(w, "reads", slow.reads > 1, true)
		equal(w, "effects", len(w.alertsOf("webhooks/w1")), 1)
	}}},
	both("two look-ups find an operation missing [R4, S3]", func(w *world) (a, b move, check func()) {
		w.missing()
		var one, two ledger.Recorded
		return w.noting(ledger.ConditionNotFound, &one), w.noting(ledger.ConditionNotFound, &two), func() {
			equal(w, "planned", one.Planned+two.Planned, 1)
			equal(w, "alerts", one.Alert != two.Alert, true)
			w.published("page@missing-1")
		}
	}),
	both("a look-up that finds it missing against its end [R4, M7]", func(w *world) (a, b move, check func()) {
		w.missing()
		var noted ledger.Recorded
		var hook ledger.Receipt
		a, b = w.noting(ledger.ConditionNotFound, &noted), w.ingesting(w.event("d1", operation.Succeeded, time.Second), &hook)
		return a, b, func() {
			rec := w.record()
			equal(w, "the end", rec.State, operation.Succeeded)
			equal(w, "its condition", rec.HasCondition(), false)
			equal(w, "the alert is there as the record says", w.effect("page@missing-1").State == ledger.EffectPending,
				rec.Effects["page@missing-1"] == operation.EffectOpen)
		}
	}),
	unanswered("ClaimLookUp: the alert is published once [R4, R6]", func(w *world, lossy func() *ledger.Ledger) {
		w.paged()
		due, now := w.stuck()
		p, err := lossy().Passes.ClaimLookUp(w.ctx, due, now)
		if err != nil || !p.Alert || p.Planned != 1 || p.Operation.Record.LookUps != 1 {
			w.Errorf("ClaimLookUp: %+v, %v", p, err)
		}
		equal(w, "the record", w.record().Effects["page@stuck-1"], operation.EffectOpen)
		w.published("page@stuck-1")
		w.store.Advance(w.settings.Interval)
		equal(w, "planned again", w.postpone().Planned, 0)
	}),
	unanswered("Intents.Abandon: alerted once, by this call [R4, G6]", func(w *world, lossy func() *ledger.Ledger) {
		w.paged()
		due := w.overdue("i-1")
		alerted, err := lossy().Intents.Abandon(w.ctx, due, w.now(), "nothing was found")
		if err != nil || alerted.Planned != 1 || alerted.PublishErr != nil {
			w.Errorf("%+v, %v", alerted, err)
		}
		equal(w, "the intent", w.intent("i-1").State, ledger.IntentAbandoned)
		w.published("page@unbound-1")
		w.name.Key = "intents/i-1"
		notice := w.alert("page@unbound-1", "unbound")
		equal(w, "since", notice.Since, due.Intent.CreatedAt)
		equal(w, "detail", notice.Detail, "nothing was found")
		if _, err := lossy().Intents.Abandon(w.ctx, due, w.now(), ""); !isConflict(err) {
			w.Errorf("again: %v, want ErrConflict", err)
		}
		w.published()
	}),
	both("giving an intent up against binding it: alerted where it was given up [R4, M6]",
		func(w *world) (a, b move, check func()) {
			w.paged()
			won := 0
			var hook ledger.Receipt
			bind := w.ingesting(w.intended("d1", "i-1", operation.Running, time.Second), &hook)
			return w.givingUp(w.overdue("i-1"), &won), bind, func() {
				w.boundTo("i-1")
				equal(w, "alerts", len(w.alertsOf("intents/i-1")), won)
			}
		}),
	unanswered("AlertAbout: planned once [R4]", func(w *world, lossy func() *ledger.Ledger) {
		w.paged()
		for range 2 {
			if err := w.alerting("webhooks/w1", new(ledger.Alerted))(lossy()); err != nil {
				w.Errorf("AlertAbout: %v", err)
			}
		}
		equal(w, "effects", len(w.alertsOf("webhooks/w1")), 1)
		equal(w, "due", len(w.dueEffects().Items), 1)
	}),
	unanswered("RecordCondition: missing alerts once, by this call [R4]", func(w *world, lossy func() *ledger.Ledger) {
		w.missing()
		for i := range 2 {
			var noted ledger.Recorded
			if err := w.noting(ledger.ConditionNotFound, &noted)(lossy()); err != nil {
				w.Errorf("RecordCondition: %v", err)
			}
			equal(w, "alert", noted.Alert, i == 0)
			equal(w, "planned", noted.Planned == 1, i == 0)
		}
		w.published("page@missing-1")
	}),
)

// betweenReads is a store in which something happens between the first two reads.
type betweenReads struct {
	ledger.Store
	reads int
	act   func()
}

func (s *betweenReads) read() {
	if s.reads++; s.reads == 2 {
		s.act()
	}
}

// Get is the store's Get.
func (s *betweenReads) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	s.read()
	return s.Store.Get(ctx, paths...)
}

// Query is the store's Query.
func (s *betweenReads) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	s.read()
	return s.Store.Query(ctx, q)
}
