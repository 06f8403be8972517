package ledgertest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

var operationIngest = []ledgerTest{
	{"a registered operation runs and succeeds [L1, S2]", func(w *world) {
		w.register()
		r := w.ingest(w.event("d1", operation.Running, time.Second))
		equal(w, "running", r.Outcome, ledger.Applied)
		equal(w, "planned while running", r.Planned, 0)
		w.published()

		w.store.Advance(time.Minute)
		counting := Count(w.store)
		r, err := w.over(counting).Operations.Ingest(w.ctx, w.event("d2", operation.Succeeded, 2*time.Second))
		if err != nil {
			w.Fatal(err)
		}
		equal(w, "the receipt", r, ledger.Receipt{
			Key: w.name.Key, Outcome: ledger.Applied, Reason: operation.Advanced, Registered: true,
			State: operation.Succeeded, Settled: true, After: w.settledAfter(), Planned: 1,
		})
		if n := counting.Counts(); n.Commits != 1 || n.Writes != 3 {
			w.Errorf("%d commits of %d writes, want one of record, delivery and effect", n.Commits, n.Writes)
		}
		w.published(publish)

		rec := w.record()
		equal(w, "state", rec.State, operation.Succeeded)
		equal(w, "settled by", rec.SettledBy, operation.Webhook)
		equal(w, "the effect in the record", rec.Effects[publish], operation.EffectOpen)
		near(w, "settled at", rec.SettledAt.Sub(w.start), time.Minute)
		effect := w.effect(publish)
		equal(w, "the effect's state", effect.State, ledger.EffectPending)
		equal(w, "its idempotency key [K4]", effect.IdempotencyKey, "gemini:batches/abc-123#publish")
		if !strings.Contains(effect.Payload, `"SUCCEEDED"`) || effect.DueAt.IsZero() {
			w.Errorf("the effect: %+v", effect)
		}
	}},
	{"the same delivery again writes nothing [W4]", func(w *world) {
		w.register()
		e := w.event("d1", operation.Succeeded, time.Second)
		w.ingest(e)
		w.published(publish)
		counting := Count(w.store)
		for range 3 {
			r, err := w.over(counting).Operations.Ingest(w.ctx, e)
			if err != nil || r.Outcome != ledger.Duplicate || r.State != operation.Succeeded || r.Settled || r.Planned != 0 {
				w.Errorf("%+v, %v", r, err)
			}
		}
		equal(w, "commits", counting.Counts().Commits, 0)
		w.published()
	}},
	{"a late RUNNING does not roll back [M3]", func(w *world) {
		w.succeed()
		before := w.document(ledger.OperationPath(w.name.Key)).Token
		counting := Count(w.store)
		r, err := w.over(counting).Operations.Ingest(w.ctx, w.event("late", operation.Running, time.Hour))
		if err != nil {
			w.Fatal(err)
		}
		equal(w, "outcome [M8]", r.Outcome, ledger.Dropped)
		equal(w, "reason", r.Reason, operation.RegressFromTerminal)
		equal(w, "state", r.State, operation.Succeeded)
		if n := counting.Counts(); n.Commits != 1 || n.Writes != 1 {
			w.Errorf("%d commits of %d writes, want one of the delivery alone", n.Commits, n.Writes)
		}
		equal(w, "the record's token", w.document(ledger.OperationPath(w.name.Key)).Token, before)
		deliveries := w.show().Deliveries
		last := deliveries[len(deliveries)-1]
		equal(w, "the delivery's outcome", last.Outcome, ledger.Dropped)
		equal(w, "the delivery's reason", last.Reason, operation.RegressFromTerminal)
		equal(w, "the same again", w.ingest(w.event("late", operation.Running, time.Hour)).Outcome, ledger.Duplicate)
	}},
	{"a look-up with nothing new leaves nothing [R3]", func(w *world) {
		w.succeed()
		counting := Count(w.store)
		for range 2 {
			r, err := w.over(counting).Operations.Ingest(w.ctx, w.lookup(operation.Succeeded, time.Second))
			if err != nil || r.Outcome != ledger.Dropped || r.Reason != operation.StaleOrEqualUpdateTime {
				w.Errorf("%+v, %v", r, err)
			}
		}
		equal(w, "commits", counting.Counts().Commits, 0)
	}},
	{"a newer RUNNING refreshes and plans nothing [R3]", func(w *world) {
		w.register()
		w.ingest(w.event("d1", operation.Running, time.Second))
		r := w.ingest(w.lookup(operation.Running, 2*time.Second))
		equal(w, "reason", r.Reason, operation.Refreshed)
		if got := w.record().UpdateTime; !got.Equal(w.start.Add(2 * time.Second)) {
			w.Errorf("update time %v", got)
		}
		equal(w, "nanoseconds are not newer [M4]",
			w.ingest(w.event("d2", operation.Running, 2*time.Second+999)).Reason, operation.StaleOrEqualUpdateTime)
		equal(w, "no time loses the tie [M4]", w.ingest(func() operation.Event {
			e := w.event("d3", operation.Running, 0)
			e.UpdateTime = time.Time{}
			return e
		}()).Reason, operation.StaleOrEqualUpdateTime)
	}},
	{"success again, newer, plans nothing [S2]", func(w *world) {
		w.succeed()
		w.finish(w.granted(publish))
		w.published(publish)
		r := w.ingest(w.event("again", operation.Succeeded, time.Hour))
		equal(w, "reason", r.Reason, operation.Refreshed)
		if r.Settled || r.Planned != 0 {
			w.Errorf("settled %v, planned %d", r.Settled, r.Planned)
		}
		equal(w, "the effect", w.claim(publish).Verdict, ledger.Done)
		w.published()
		// Nor does a rule that is added later: it is for operations that succeed
		// from now on.
		w.settings.Rules = append(w.settings.Rules, ledger.Rule{Name: "later", On: []operation.State{operation.Succeeded}})
		equal(w, "planned of a rule that is new", w.ingest(w.event("more", operation.Succeeded, 2*time.Hour)).Planned, 0)
		w.published()
	}},
	{"another end is recorded and not applied [M5]", func(w *world) {
		w.succeed()
		w.published(publish)
		before := w.record()
		for _, e := range []operation.Event{
			w.event("d2", operation.Failed, time.Hour), w.lookup(operation.Expired, 2*time.Hour),
		} {
			r := w.ingest(e)
			equal(w, "outcome", r.Outcome, ledger.Conflict)
			equal(w, "reason", r.Reason, operation.TerminalConflict)
			version := w.record().Version
			equal(w, "the same again", w.ingest(e).Outcome, ledger.Duplicate)
			equal(w, "version after the same again", w.record().Version, version)
			noted := w.record()
			equal(w, "noted end", noted.ConflictState, e.State)
			equal(w, "noted path", noted.ConflictBy, e.Source)
			near(w, "noted", noted.ConflictAt.Sub(w.now()), 0)
			noted.ConflictAt, noted.ConflictState, noted.ConflictBy = time.Time{}, "", ""
			noted.Version = before.Version
			equal(w, "nothing else changes", reflect.DeepEqual(noted, before), true)
			w.store.Advance(time.Minute)
		}
		equal(w, "conflicts on record", count(w.show().Deliveries, func(d ledger.Delivery) bool {
			return d.Outcome == ledger.Conflict
		}), 2)
		equal(w, "the alarm", w.claim(alarm).Verdict, ledger.Absent)
		w.published()
	}},
	{"a transition that the settings allow is applied [M5]", func(w *world) {
		w.succeed()
		w.finish(w.granted(publish))
		w.published(publish)
		equal(w, "before it is allowed", w.ingest(w.event("d1", operation.Failed, time.Minute)).Outcome, ledger.Conflict)
		refused := w.record()
		var err error
		if w.settings.Transitions, err = operation.ParseTransitions("SUCCEEDED:FAILED"); err != nil {
			w.Fatal(err)
		}
		equal(w, "older", w.ingest(w.event("d2", operation.Failed, 0)).Reason, operation.StaleOrEqualUpdateTime)
		r := w.ingest(w.event("d3", operation.Failed, time.Hour))
		equal(w, "reason", r.Reason, operation.Transition)
		equal(w, "planned", r.Planned, 1)
		w.published(alarm)
		rec := w.record()
		equal(w, "state", rec.State, operation.Failed)
		equal(w, "a conflict", !rec.ConflictAt.IsZero() || rec.ConflictState != "" || rec.ConflictBy != "", false)
		kept := rec // by an older revision
		kept.ConflictAt, kept.ConflictState, kept.ConflictBy = refused.ConflictAt, refused.ConflictState, refused.ConflictBy
		w.delete(ledger.OperationPath(w.name.Key))
		w.plant(ledger.OperationPath(w.name.Key), kept)
		equal(w, "listed conflicts", len(w.list(ledger.Filter{Conflict: true})), 0)
		equal(w, "the alarm", rec.Effects[alarm], operation.EffectOpen)
		equal(w, "the first effect", rec.Effects[publish], operation.EffectDone)
		equal(w, "and back", w.ingest(w.event("d4", operation.Succeeded, 2*time.Hour)).Outcome, ledger.Conflict)
	}},
	{"an allowed transition without a newer time is a conflict [M5, M4]", func(w *world) {
		var err error
		if w.settings.Transitions, err = operation.ParseTransitions("SUCCEEDED:FAILED"); err != nil {
			w.Fatal(err)
		}
		w.succeed()
		for _, e := range []operation.Event{
			w.event("d1", operation.Failed, time.Second), untimed(w.lookup(operation.Failed, 0)),
		} {
			r := w.ingest(e)
			equal(w, "outcome", r.Outcome, ledger.Conflict)
			equal(w, "reason", r.Reason, operation.TerminalConflict)
			rec := w.record()
			equal(w, "state", rec.State, operation.Succeeded)
			equal(w, "noted", fmt.Sprint(rec.Conflicted(), rec.ConflictState, rec.ConflictBy),
				fmt.Sprint(true, operation.Failed, e.Source))
		}
		equal(w, "the alarm", w.claim(alarm).Verdict, ledger.Absent)
		equal(w, "listed", len(w.list(ledger.Filter{Conflict: true})), 1)
		equal(w, "newer, after all", w.ingest(w.event("d2", operation.Failed, time.Minute)).Reason, operation.Transition)
		equal(w, "listed after it", len(w.list(ledger.Filter{Conflict: true})), 0)
	}},
	{"a waiting state plans its effect the first time only [S2]", func(w *world) {
		w.settings.Rules = append(w.settings.Rules, ledger.Rule{Name: "ask", On: []operation.State{operation.RequiresAction}})
		w.register()
		equal(w, "asks", w.ingest(w.event("d1", operation.RequiresAction, 1*time.Second)).Planned, 1)
		equal(w, "goes on", w.ingest(w.event("d2", operation.Running, 2*time.Second)).Planned, 0)
		equal(w, "asks again", w.ingest(w.event("d3", operation.RequiresAction, 3*time.Second)).Planned, 0)
		w.published("ask")
		w.finish(w.granted("ask"))
		w.delete(ledger.EffectPath(w.name.Key, "ask")) // a done effect expires; the record still names it
		w.ingest(w.event("d4", operation.Running, 4*time.Second))
		equal(w, "asks much later", w.ingest(w.event("d5", operation.RequiresAction, 5*time.Second)).Planned, 0)
		w.published()
	}},
	{"an unknown state never rolls back [M1]", func(w *world) {
		w.register()
		w.ingest(w.event("d1", operation.Running, time.Second))
		equal(w, "reason", w.ingest(w.event("d2", "PAUSED_BY_TOMORROW", time.Hour)).Reason, operation.LowerRank)
		equal(w, "state", w.record().State, operation.Running)
	}},
	{"an unregistered operation runs no effect [W5]", func(w *world) {
		r := w.ingest(w.event("d1", operation.Succeeded, time.Second))
		equal(w, "outcome", r.Outcome, ledger.Applied)
		if r.Registered || r.Planned != 0 || !r.Settled {
			w.Errorf("%+v", r)
		}
		equal(w, "the effect", w.claim(publish).Verdict, ledger.Absent)
		rec := w.record()
		equal(w, "registered", rec.Registered, false)
		equal(w, "the name [K5]", rec.Name, w.name.Resource)
		w.published()
	}},
	{"a message that cannot be published loses nothing [W3]", func(w *world) {
		w.register()
		w.outbox.err = errors.New("no such topic")
		r := w.ingest(w.event("d1", operation.Succeeded, time.Second))
		equal(w, "outcome", r.Outcome, ledger.Applied)
		if !errors.Is(r.PublishErr, w.outbox.err) {
			w.Errorf("PublishErr: %v", r.PublishErr)
		}
		page, err := w.ledger().Effects.Due(w.ctx, w.now(), ledger.Cursor{}, 10)
		if err != nil || len(page.Items) != 1 {
			w.Errorf("due afterwards: %+v, %v", page, err)
		}
	}},
	{"delivery ids of any text [W4]", func(w *world) {
		w.register()
		for i, id := range someIDs() {
			e := w.event(id, operation.Running, time.Duration(i+1)*time.Second)
			if r := w.ingest(e); r.Outcome != ledger.Applied {
				w.Errorf("delivery %.40q: %+v", id, r)
			}
			if r := w.ingest(e); r.Outcome != ledger.Duplicate {
				w.Errorf("delivery %.40q again: %+v", id, r)
			}
		}
	}},
	{"a report that is too large is not worth a retry", func(w *world) {
		w.register()
		e := w.event("d1", operation.Failed, time.Second)
		e.Result.ErrorMessage = strings.Repeat("x", 1_200*1024)
		_, err := w.ledger().Operations.Ingest(w.ctx, e)
		if !errors.Is(err, ledger.ErrInvalid) || !ledger.Permanent(err) {
			w.Errorf("Ingest: %v, want ErrInvalid", err)
		}
		equal(w, "state", w.record().State, operation.Pending)
	}},
}
