package ledgertest

import (
	"errors"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// intended is an event about the world's operation with the id of an intent.
func (w *world) intended(delivery, id string, state operation.State, at time.Duration) operation.Event {
	e := w.event(delivery, state, at)
	e.CorrelationID = id
	return e
}

// boundTo checks that the intent is bound to the world's operation, which is registered with the
// intent's job kind and metadata.
func (w *world) boundTo(id string) {
	w.Helper()
	intent, rec := w.intent(id), w.record()
	equal(w, "the intent", intent.State, ledger.IntentBound)
	equal(w, "its operation", intent.Operation, w.name.Key)
	equal(w, "it waits", intent.DueAt.IsZero(), true)
	equal(w, "it is deleted some day", intent.ExpireAt.IsZero(), false)
	equal(w, "registered", rec.Registered, true)
	equal(w, "the record's id", rec.CorrelationID, id)
	equal(w, "job kind", rec.JobKind, "intended-job")
	equal(w, "metadata", rec.Metadata, `{"team":"reviews"}`)
	equal(w, "submitted at", rec.SubmittedAt, intent.AttemptedAt())
}

var intentBind = []ledgerTest{
	{"an event registers the operation of an OPEN intent, in one commit with its effects [G6, W5]", func(w *world) {
		w.intend("i-1")
		w.store.Advance(time.Minute)
		counting := Count(w.store)
		r, err := w.over(counting).Operations.Ingest(w.ctx, w.intended("d1", "i-1", operation.Succeeded, time.Second))
		want := ledger.Receipt{
			Key: w.name.Key, Outcome: ledger.Applied, Reason: operation.Advanced, Registered: true,
			State: operation.Succeeded, Settled: true, After: w.settledAfter(), Planned: 1, Bound: true, CorrelationID: "i-1",
		}
		if err != nil || r != want {
			w.Errorf("%+v, %v, want %+v", r, err, want)
		}
		if n := counting.Counts(); n.Commits != 1 || n.Writes != 4 {
			w.Errorf("%d commits of %d writes, want one of intent, effect, record and delivery", n.Commits, n.Writes)
		}
		w.boundTo("i-1")
		w.plannedOnce()
		equal(w, "the path that bound it", w.intent("i-1").BoundBy, operation.Webhook)
		equal(
			w, "the same again [W4]", w.ingest(w.intended("d1", "i-1", operation.Succeeded, time.Second)).Outcome,
			ledger.Duplicate,
		)
	}},
	{"a running operation is bound, and looked up from then on [G6, R1]", func(w *world) {
		w.intend("i-1")
		e := w.lookup(operation.Running, time.Second)
		e.CorrelationID = "i-1"
		equal(w, "bound", w.ingest(e).Bound, true)
		w.boundTo("i-1")
		w.lives("running", true, 0)
		due, _ := w.pass()
		equal(w, "due", due.Record.Key, w.name.Key)
		equal(w, "the end", w.ingest(w.event("d1", operation.Succeeded, time.Minute)).Planned, 1)
		w.plannedOnce()
	}},
	{"an unknown state binds, and is no progress [G6, M1]", func(w *world) {
		w.intend("i-1")
		r := w.ingest(w.intended("d1", "i-1", "DANCING", time.Second))
		equal(w, "bound", r.Bound, true)
		equal(w, "outcome", r.Outcome, ledger.Dropped)
		equal(w, "state", w.record().State, operation.Pending)
		w.boundTo("i-1")
		w.lives("pending", true, 0)
	}},
	{"an intent that was given up still binds [G6]", func(w *world) {
		w.intend("i-1")
		w.store.Advance(w.settings.StuckAfter + time.Second)
		w.giveUp()
		equal(w, "bound", w.ingest(w.intended("d1", "i-1", operation.Succeeded, time.Hour)).Bound, true)
		w.boundTo("i-1")
		w.plannedOnce()
		equal(w, "that it was given up stays known", w.intent("i-1").AbandonedAt.IsZero(), false)
	}},
	{"an event without the id arrived first: it is applied [G6, W5]", func(w *world) {
		w.intend("i-1")
		w.ingest(w.event("d1", operation.Succeeded, time.Minute))
		w.published()
		for _, e := range []operation.Event{
			w.intended("d2", "i-1", operation.Running, time.Second), // older, but with the id
			w.intended("d3", "i-1", operation.Succeeded, time.Minute),
		} {
			r := w.ingest(e)
			equal(w, "outcome", r.Outcome, ledger.Dropped)
			equal(w, "bound", r.Bound, e.DeliveryID == "d2")
			equal(w, "planned", r.Planned == 1, r.Bound)
			equal(w, "registered", r.Registered, true)
		}
		w.boundTo("i-1")
		w.plannedOnce()
		equal(w, "deliveries", len(w.show().Deliveries), 3)
	}},
	{"a look-up with nothing new binds, too [G6, R2]", func(w *world) {
		w.intend("i-1")
		w.ingest(w.event("d1", operation.Succeeded, time.Second))
		e := w.lookup(operation.Succeeded, time.Second)
		e.CorrelationID = "i-1"
		if r := w.ingest(e); !r.Bound || r.Outcome != ledger.Dropped || r.Planned != 1 {
			w.Errorf("%+v", r)
		}
		w.boundTo("i-1")
		w.plannedOnce()
	}},
	{"another end binds, and the first stands [G6, M5]", func(w *world) {
		w.intend("i-1")
		w.ingest(w.event("d1", operation.Succeeded, time.Second))
		r := w.ingest(w.intended("d2", "i-1", operation.Failed, time.Hour))
		if !r.Bound || r.Outcome != ledger.Conflict || r.State != operation.Succeeded || r.Planned != 1 {
			w.Errorf("%+v", r)
		}
		w.plannedOnce()
	}},
	{"an event on what is registered leaves the intent alone [G6]", func(w *world) {
		w.intend("i-1")
		w.register()
		r := w.ingest(w.intended("d1", "i-1", operation.Succeeded, time.Second))
		equal(w, "bound", r.Bound, false)
		equal(w, "the intent", w.intent("i-1").State, ledger.IntentOpen)
		// It can be registered again, with the id.
		if _, err := w.ledger().Operations.Register(w.ctx, w.correlated("i-1")); err != nil {
			w.Fatal(err)
		}
		equal(w, "the intent", w.intent("i-1").State, ledger.IntentBound)
		equal(w, "the job kind stays", w.record().JobKind, "test-job")
		equal(w, "metadata is added", w.record().Metadata, `{"team":"reviews"}`)
		w.plannedOnce()
	}},
	{"a registration binds, completed with the intent's job kind and metadata [G6]", func(w *world) {
		for _, given := range []bool{false, true} {
			w.intend("i-1")
			if given { // and was given up before
				w.delete("intents/i-1")
				w.name = nameOf(w, "batches/given")
				w.intend("i-1")
				w.store.Advance(w.settings.StuckAfter + time.Second)
				w.giveUp()
			}
			r := ledger.Registration{Name: w.name, Submission: operation.Submission{CorrelationID: "i-1"}}
			kind, metadata := "intended-job", operation.Metadata(`{"team":"reviews"}`)
			if given {
				kind, metadata = "given", `{"given":true}`
				r.JobKind, r.Metadata = kind, metadata
			}
			registered, err := w.ledger().Operations.Register(w.ctx, r)
			if err != nil || !registered.Created || registered.CorrelationErr != nil {
				w.Fatalf("%+v, %v", registered, err)
			}
			equal(w, "job kind", w.record().JobKind, kind)
			equal(w, "metadata", w.record().Metadata, metadata)
			equal(w, "the intent", w.intent("i-1").State, ledger.IntentBound)
			counting := Count(w.store)
			if _, err := w.over(counting).Operations.Register(w.ctx, r); err != nil {
				w.Error(err)
			}
			equal(w, "commits of the same again", counting.Counts().Commits, 0)
		}
	}},
	{"a registration of what an event has bound [G6]", func(w *world) {
		w.intend("i-1")
		w.ingest(w.intended("d1", "i-1", operation.Succeeded, time.Second))
		r := w.correlated("i-1")
		r.JobKind, r.Metadata = "", `{"more":1}`
		registered, err := w.ledger().Operations.Register(w.ctx, r)
		if err != nil || registered.Created || registered.Planned != 0 || registered.CorrelationErr != nil {
			w.Errorf("%+v, %v", registered, err)
		}
		equal(w, "metadata", w.record().Metadata, `{"more":1,"team":"reviews"}`)
		w.plannedOnce()
	}},
	{"a job that was submitted twice with one id: one has the intent, the other is not lost [G6, W5]", func(w *world) {
		w.intend("i-1")
		w.ingest(w.intended("d1", "i-1", operation.Running, time.Second))
		first := w.name
		w.name = nameOf(w, "batches/second")
		r := w.ingest(w.intended("d2", "i-1", operation.Succeeded, time.Second))
		if r.Key != w.name.Key || r.Registered || r.Bound || r.Outcome != ledger.Applied {
			w.Errorf("%+v", r)
		}
		w.published()
		registered, err := w.ledger().Operations.Register(w.ctx, w.correlated("i-1"))
		if err != nil || registered.Planned != 1 || !errors.Is(registered.CorrelationErr, ledger.ErrCorrelation) {
			w.Errorf("%+v, %v, want its effects and ErrCorrelation", registered, err)
		}
		equal(w, "its id", registered.Record.CorrelationID, "")
		w.name = first
		equal(w, "state of the first", w.record().State, operation.Running)
		w.boundTo("i-1")
	}},
	{"an operation has one id [G6, K6]", func(w *world) {
		w.intend("i-2")
		if _, err := w.ledger().Operations.Register(w.ctx, w.correlated("i-1")); err != nil {
			w.Fatal(err)
		}
		registered, err := w.ledger().Operations.Register(w.ctx, w.correlated("i-2"))
		if err != nil || !errors.Is(registered.CorrelationErr, ledger.ErrCorrelation) {
			w.Errorf("%+v, %v, want ErrCorrelation", registered, err)
		}
		equal(w, "its id", w.record().CorrelationID, "i-1")
		equal(w, "the other intent", w.intent("i-2").State, ledger.IntentOpen)
	}},
	{"a registration ignores the state of another registered operation [K6]", func(w *world) {
		w.ingest(w.renamed("d1", "i-1"))
		other := w.renamed("d1", "i-1").Name
		if _, err := w.ledger().Operations.Register(w.ctx, ledger.Registration{Name: other}); err != nil {
			w.Fatal(err)
		}
		if _, err := w.ledger().Operations.Register(w.ctx, w.correlated("i-1")); err != nil {
			w.Fatal(err)
		}
		equal(w, "state", w.record().State, operation.Pending)
	}},
	{"an effect that outlived its record is not run again [L3, S7]", func(w *world) {
		w.intend("i-1")
		w.succeed()
		w.finish(w.granted(publish))
		w.published(publish)
		w.delete(ledger.OperationPath(w.name.Key))
		if r := w.ingest(w.intended("d9", "i-1", operation.Succeeded, time.Hour)); !r.Bound || r.Planned != 0 {
			w.Errorf("%+v", r)
		}
		equal(w, "the effect in the record", w.record().Effects[publish], operation.EffectDone)
		w.published()
	}},
}
