package ledgertest

import (
	"reflect"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

const day = 24 * time.Hour

// lives checks whether the record is due and when it expires, counted from the store's time
// now; zero: never [L3].
func (w *world) lives(what string, waitedFor bool, expires time.Duration) {
	w.Helper()
	rec := w.record()
	equal(w, what+": is waited for", !rec.DueAt.IsZero(), waitedFor)
	if expires == 0 || rec.ExpireAt.IsZero() {
		equal(w, what+": never expires", rec.ExpireAt.IsZero(), expires == 0)
		return
	}
	near(w, what+": expires in", rec.ExpireAt.Sub(w.now()), expires)
}

var operationLifetime = []ledgerTest{
	{"pending never expires [L3]", func(w *world) {
		w.register()
		w.lives("registered", true, 0)
		w.ingest(w.event("d1", operation.Running, time.Second))
		w.lives("running", true, 0)
		w.store.Advance(100 * day)
		w.ingest(w.event("d2", operation.Running, 100*day))
		w.lives("running for long", true, 0)
	}},
	{"ended with an effect open never expires [L1, L3]", func(w *world) {
		w.succeed()
		w.lives("succeeded", false, 0)
		w.granted(publish)
		w.lives("claimed", false, 0)
		w.store.Advance(100 * day)
		wait := w.release(w.granted(publish), 0)
		w.lives("released", false, 0)
		w.store.Advance(wait)
		w.granted(publish)
	}},
	{"closed expires, and its effects outlive it [L3, S7]", func(w *world) {
		w.succeed()
		w.store.Advance(5 * day)
		w.finish(w.granted(publish))
		w.lives("closed", false, w.settings.Retention)
		near(w, "the effect expires in", w.effect(publish).ExpireAt.Sub(w.now()), 2*w.settings.Retention)
		w.store.Advance(day)
		w.ingest(w.event("again", operation.Succeeded, time.Hour))
		w.lives("closed, and refreshed a day later", false, w.settings.Retention-day)
		w.register()
		w.lives("closed, and registered again", false, w.settings.Retention-day)
	}},
	{"closed without any effect expires [L3]", func(w *world) {
		w.settings.Rules = nil
		w.register()
		w.ingest(w.event("d1", operation.Succeeded, time.Second))
		w.lives("succeeded", false, w.settings.Retention)
	}},
	{"of two effects the last one closes it [L3]", func(w *world) {
		w.settings.Rules = append(w.settings.Rules, ledger.Rule{Name: "second", On: []operation.State{operation.Succeeded}})
		w.register()
		equal(w, "planned", w.ingest(w.event("d1", operation.Succeeded, time.Second)).Planned, 2)
		w.finish(w.granted(publish))
		w.lives("one done", false, 0)
		lease := w.granted("second")
		if err := w.ledger().Effects.MarkDead(w.ctx, lease, errFailed); err != nil {
			w.Fatal(err)
		}
		w.lives("one done, one dead", false, 0)
	}},
	{"an effect of a running operation does not end the waiting [L3]", func(w *world) {
		w.settings.Rules = append(w.settings.Rules, ledger.Rule{Name: "started", On: []operation.State{operation.Running}})
		w.register()
		w.ingest(w.event("d1", operation.Running, time.Second))
		w.finish(w.granted("started"))
		w.lives("running, its effect done", true, 0)
	}},
	{"an unregistered record expires, and registering keeps it [W5, L3]", func(w *world) {
		w.ingest(w.event("d1", operation.Running, time.Second))
		w.lives("not registered", false, w.settings.Retention)
		w.register()
		w.lives("registered", true, 0)
	}},
	{"deliveries expire after the retention", func(w *world) {
		w.ingest(w.event("d1", operation.Running, time.Second))
		for _, d := range w.show().Deliveries {
			near(w, "the delivery expires after", d.ExpireAt.Sub(d.ReceivedAt), w.settings.Retention)
		}
	}},
	{"an operation that ran for longer than the retention runs its effects [L3]", func(w *world) {
		w.register()
		w.store.Advance(30 * day)
		equal(w, "planned", w.ingest(w.event("d1", operation.Succeeded, 15*day)).Planned, 1)
		w.plannedOnce()
	}},
	{"what ended shortly before the retention runs its effects [L3]", func(w *world) {
		w.ingest(w.event("d1", operation.Succeeded, -13*day))
		equal(w, "planned", w.register().Planned, 1)
		w.plannedOnce()
	}},
	{"registered again after it expired, with effects still there [L3, S7]", func(w *world) {
		w.succeed()
		w.finish(w.granted(publish))
		w.published(publish)
		done := w.effect(publish)
		w.delete(ledger.OperationPath(w.name.Key)) // TTL deletion leaves what is under it

		equal(w, "created", w.register().Created, true)
		e := w.lookup(operation.Succeeded, 0)
		e.UpdateTime = time.Time{} // so that only the effect's document shows it
		r := w.ingest(e)
		equal(w, "outcome", r.Outcome, ledger.Applied)
		equal(w, "planned", r.Planned, 0)
		if effect := w.effect(publish); !reflect.DeepEqual(effect, done) {
			w.Errorf("the effect: %+v, want %+v", effect, done)
		}
		equal(w, "the record", w.record().Effects[publish], operation.EffectDone)
		w.lives("registered again", false, w.settings.Retention)
		w.published()
	}},
	{"after it expired: an event, then a registration [L3, W5]", func(w *world) {
		w.succeed()
		w.finish(w.granted(publish))
		w.published(publish)
		w.delete(ledger.OperationPath(w.name.Key))

		r := w.ingest(w.event("another delivery", operation.Succeeded, time.Second))
		if r.Registered || r.Planned != 0 {
			w.Errorf("the event: %+v", r)
		}
		equal(w, "planned", w.register().Planned, 0)
		equal(w, "the effect", w.claim(publish).Verdict, ledger.Done)
		equal(w, "the record", w.record().Effects[publish], operation.EffectDone)
		w.lives("registered again", false, w.settings.Retention)
		w.published()
	}},
	{"after it expired: a delivery of its former life is there [L3, W4]", func(w *world) {
		w.register()
		first := w.lookup(operation.Succeeded, 0)
		w.ingest(first)
		w.finish(w.granted(publish))
		w.published(publish)
		w.delete(ledger.OperationPath(w.name.Key))
		w.delete(ledger.EffectPath(w.name.Key, publish)) // that, too: deletion has no order
		w.store.Advance(time.Second)
		w.register()
		// The same answer has the same delivery id, and must settle the record that was created
		// again.
		equal(w, "outcome", w.ingest(first).Outcome, ledger.Applied)
		equal(w, "the same again", w.ingest(first).Outcome, ledger.Duplicate)
	}},
	{"… which it got while the clock was ahead [L3, W4]", func(w *world) {
		for _, create := range []func(id string){
			func(string) { w.register() },
			func(id string) { w.ingest(w.event(id, operation.Running, time.Second)) },
			func(id string) {
				w.intend(id)
				e := w.event(id+" runs", operation.Running, time.Second)
				e.CorrelationID = id
				w.ingest(e)
			},
		} {
			w.leap(29 * day)
			create("first")
			end := w.event("end", operation.Succeeded, time.Hour)
			equal(w, "at first", w.ingest(end).Outcome, ledger.Applied)
			w.leap(-29 * day)
			equal(w, "redelivered", w.ingest(end).Outcome, ledger.Duplicate)
			w.delete(ledger.OperationPath(w.name.Key))
			create("second")
			equal(w, "created again", w.ingest(end).Outcome, ledger.Applied)
			equal(w, "the same again", w.ingest(end).Outcome, ledger.Duplicate)
			w.name = nameOf(w, string(w.name.Key)+"-next")
		}
	}},
	{"an end whose time is the epoch has no known time: its effects run [M4, L3]", func(w *world) {
		w.register()
		e := w.event("d1", operation.Succeeded, 0)
		e.UpdateTime = time.Unix(0, 0)
		r := w.ingest(e)
		equal(w, "planned", r.Planned, 1)
		equal(w, "withheld", r.Withheld, 0)
		w.plannedOnce()
	}},
	{"a rule that was added later runs nothing for what was registered before [L3, S3]", func(w *world) {
		w.succeed()
		w.finish(w.granted(publish))
		w.published(publish)
		w.settings.Rules = append(w.settings.Rules, ledger.Rule{Name: "second", On: []operation.State{operation.Succeeded}})
		equal(w, "planned by the same registration again", w.register().Planned, 0)
		w.published()
	}},
	{"after it expired: one effect is there, another is new [L3]", func(w *world) {
		w.succeed()
		w.finish(w.granted(publish))
		w.published(publish)
		w.delete(ledger.OperationPath(w.name.Key))
		w.settings.Rules = append(w.settings.Rules, ledger.Rule{Name: "second", On: []operation.State{operation.Succeeded}})
		w.register()
		equal(w, "planned", w.ingest(w.event("another delivery", operation.Succeeded, time.Second)).Planned, 1)
		rec := w.record()
		equal(w, "the old one", rec.Effects[publish], operation.EffectDone)
		equal(w, "the new one", rec.Effects["second"], operation.EffectOpen)
		w.published("second")
	}},
}
