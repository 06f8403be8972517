package ledgertest

import (
	"errors"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// intentRecordCrashes: what is left when an answer is lost, the store goes down or a process dies,
// at each commit of an intent's life.
var intentRecordCrashes = join(
	lostly("Intend: recorded, by this call [G6]", func(w *world, l *ledger.Ledger) {
		intent, err := l.Intents.Intend(w.ctx, w.intention("i-1"))
		if err != nil || !intent.Created || intent.State != ledger.IntentOpen {
			w.Errorf("%+v, %v", intent, err)
		}
		equal(w, "version", w.intent("i-1").Version, 1)
	}),
	lostly("Intend: what an event has named is registered, once [G6, W5]", func(w *world, l *ledger.Ledger) {
		w.ingest(w.intended("d1", "i-1", operation.Succeeded, time.Second))
		intent, err := l.Intents.Intend(w.ctx, w.intention("i-1"))
		if err != nil || intent.State != ledger.IntentBound || intent.Operation != w.name.Key {
			w.Errorf("%+v, %v", intent, err)
		}
		equal(w, "the effect", w.record().Effects[publish], operation.EffectOpen)
		equal(w, "which the sweep finds [R5]", len(w.dueEffects().Items), 1)
	}),
	lostly("Ingest: bound, applied and published exactly as planned [G6, W3]", func(w *world, l *ledger.Ledger) {
		w.intend("i-1")
		w.store.Advance(time.Minute)
		r, err := l.Operations.Ingest(w.ctx, w.intended("d1", "i-1", operation.Succeeded, time.Second))
		want := ledger.Receipt{
			Key: w.name.Key, Outcome: ledger.Applied, Reason: operation.Advanced, Registered: true,
			State: operation.Succeeded, Settled: true, After: w.settledAfter(), Planned: 1, Bound: true, CorrelationID: "i-1",
		}
		if err != nil || r != want {
			w.Errorf("%+v, %v, want %+v", r, err, want)
		}
		w.boundTo("i-1")
		w.plannedOnce()
	}),
	lostly("Ingest: bound by an event with nothing new [G6]", func(w *world, l *ledger.Ledger) {
		w.intend("i-1")
		w.ingest(w.event("d1", operation.Succeeded, time.Second))
		e := w.lookup(operation.Succeeded, time.Second)
		e.CorrelationID = "i-1"
		r, err := l.Operations.Ingest(w.ctx, e)
		if err != nil || !r.Bound || r.Outcome != ledger.Dropped || r.Planned != 1 {
			w.Errorf("%+v, %v", r, err)
		}
		w.plannedOnce()
	}),
	lostly("Ingest: an id that was not recorded [K6]", func(w *world, l *ledger.Ledger) {
		w.ingest(w.event("d1", operation.Succeeded, time.Second))
		r, err := l.Operations.Ingest(w.ctx, w.intended("d2", "i-1", operation.Running, time.Second))
		if err != nil || r.Outcome != ledger.Dropped || r.Bound {
			w.Errorf("%+v, %v", r, err)
		}
		equal(w, "the id", w.intent("i-1").State, ledger.IntentSeen)
	}),
	lostly("Register: bound, and made once [G6, L2]", func(w *world, l *ledger.Ledger) {
		w.intend("i-1")
		registered, err := l.Operations.Register(
			w.ctx, ledger.Registration{
				Name: w.name, Submission: operation.Submission{CorrelationID: "i-1"}, SubmittedAt: w.intent("i-1").CreatedAt,
			},
		)
		if err != nil || registered.CorrelationErr != nil {
			w.Errorf("%+v, %v", registered, err)
		}
		equal(w, "version", w.record().Version, 1)
		w.boundTo("i-1")
	}),
	lostly("Intents.Abandon: given up, by this call [G6]", func(w *world, l *ledger.Ledger) {
		due := w.overdue("i-1")
		if _, err := l.Intents.Abandon(w.ctx, due, w.now(), ""); err != nil {
			w.Errorf("Intents.Abandon: %v", err)
		}
		equal(w, "version", w.intent("i-1").Version, 2)
	}),
	[]ledgerTest{
		{"Intents.Abandon: the answer is lost, and the intent bound before the next try [G6]", func(w *world) {
			due := w.overdue("i-1")
			l := w.over(Inject(afterCommit{w.store, func() {
				w.ingest(w.intended("d1", "i-1", operation.Succeeded, time.Second))
			}}, LoseAnswer))
			if _, err := l.Intents.Abandon(w.ctx, due, w.now(), ""); !isConflict(err) {
				w.Errorf("Intents.Abandon: %v, want ErrConflict", err)
			}
			w.boundTo("i-1")
			w.plannedOnce()
		}},
		{"Intents.Abandon: an aborted commit is made once more", func(w *world) {
			due := w.overdue("i-1")
			if _, err := w.over(Inject(w.store, Abort, FailBefore)).Intents.Abandon(w.ctx, due, w.now(), ""); err != nil {
				w.Errorf("Intents.Abandon: %v", err)
			}
			equal(w, "state", w.intent("i-1").State, ledger.IntentAbandoned)
		}},
		{"a store that is down at the binding leaves nothing half done, and the redelivery binds [G6, W3]", func(w *world) {
			w.intend("i-1")
			e := w.intended("d1", "i-1", operation.Succeeded, time.Second)
			for _, fault := range []Fault{FailBefore, Abort} {
				if _, err := w.over(Inject(w.store, Times(1000, fault)...)).Operations.Ingest(w.ctx,
					e); err == nil || ledger.Permanent(err) {
					w.Errorf("Ingest: %v, want an error that passes", err)
				}
				equal(w, "the intent", w.intent("i-1").State, ledger.IntentOpen)
				equal(w, "a record", w.document(ledger.OperationPath(w.name.Key)).Exists(), false)
			}
			equal(w, "bound by the redelivery", w.ingest(e).Bound, true)
			w.boundTo("i-1")
			w.plannedOnce()
		}},
		{"a submitter that dies before it submits leaves an intent that is given up [G6]", func(w *world) {
			w.intend("i-1")
			w.store.Advance(w.settings.StuckAfter + time.Second)
			w.giveUp()
			equal(w, "operations", len(w.list(ledger.Filter{})), 0)
			equal(w, "state", w.intent("i-1").State, ledger.IntentAbandoned)
		}},
		{"a process that dies between binding and publishing leaves an effect for the sweep [G6, R5]", func(w *world) {
			w.intend("i-1")
			w.outbox.err = errors.New("the process is gone")
			if r := w.ingest(w.intended("d1", "i-1", operation.Succeeded, time.Second)); !r.Bound || r.PublishErr == nil {
				w.Errorf("%+v", r)
			}
			w.outbox.err = nil
			equal(w, "effects that the sweep finds", len(w.dueEffects().Items), 1)
			w.finish(w.granted(publish))
		}},
	},
)

// tellIntent runs the story of a submitter that dies before it registers, with l: the intent is
// given up, a webhook brings the end under an unknown name, every other caller is late, and the
// effect is done.
func (w *world) tellIntent(l *ledger.Ledger) {
	intend := func() (i ledger.Intent) {
		w.stubbornly("Intend", func() (err error) { i, err = l.Intents.Intend(w.ctx, w.intention("i-1")); return err })
		return i
	}
	ingest := func(e operation.Event) (r ledger.Receipt) {
		w.stubbornly("Ingest "+e.DeliveryID, func() (err error) { r, err = l.Operations.Ingest(w.ctx, e); return err })
		return r
	}
	equal(w, "recorded", intend().Created, true)
	equal(w, "an event without the id [W5]", ingest(w.event("d1", operation.Running, time.Second)).Registered, false)
	w.store.Advance(w.settings.StuckAfter + time.Second)
	for _, due := range w.dueIntents().Items {
		w.stubbornly("Intents.Abandon", func() error {
			_, err := l.Intents.Abandon(w.ctx, due, w.now(), "")
			return err
		})
	}
	equal(w, "given up", w.intent("i-1").State, ledger.IntentAbandoned)

	end := ingest(w.intended("d2", "i-1", operation.Succeeded, time.Minute))
	if !end.Bound || !end.Settled || end.Planned != 1 || end.Outcome != ledger.Applied {
		w.Errorf("the end: %+v", end)
	}
	w.boundTo("i-1")
	w.plannedOnce()
	again := intend()
	if again.State != ledger.IntentBound || again.Operation != w.name.Key || again.Created {
		w.Errorf("the submitter starts again and finds %+v", again)
	}
	w.stubbornly("Register", func() error {
		r, err := l.Operations.Register(w.ctx, w.correlated("i-1"))
		return errors.Join(err, r.CorrelationErr)
	})
	equal(w, "a late report", ingest(w.intended("d3", "i-1", operation.Running, time.Hour)).Bound, false)

	var lease ledger.Lease
	w.stubbornly("Claim", func() error {
		g, err := l.Effects.Claim(w.ctx, w.name.Key, publish)
		lease = g.Lease
		return err
	})
	w.stubbornly("Finish", func() error { return l.Effects.Finish(w.ctx, lease) })
	w.lives("closed", false, w.settings.Retention)
	w.published()
}
