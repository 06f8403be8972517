package ledgertest

import (
	"errors"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// correlated is the world's registration with a correlation id.
func (w *world) correlated(id string) ledger.Registration {
	r := w.registration()
	r.CorrelationID = id
	return r
}

// renamed is a success under an unregistered name, with a correlation id.
func (w *world) renamed(delivery, id string) operation.Event {
	e := w.event(delivery, operation.Succeeded, time.Second)
	e.Name = nameOf(w, "operations/some-other-form")
	e.CorrelationID = id
	return e
}

var intentCorrelation = join([]ledgerTest{
	{"an event under another name finds its operation by the id [K6]", func(w *world) {
		if _, err := w.ledger().Operations.Register(w.ctx, w.correlated("c-1")); err != nil {
			w.Fatal(err)
		}
		e := w.renamed("d1", "c-1")
		r := w.ingest(e)
		equal(w, "the operation", r.Key, w.name.Key)
		equal(w, "outcome", r.Outcome, ledger.Applied)
		equal(w, "counted", r.Correlated, true)
		equal(w, "registered", r.Registered, true)
		w.plannedOnce()
		equal(w, "the name to ask with [K5]", w.record().Name, w.name.Resource)
		equal(w, "a record under the other name", w.document(ledger.OperationPath(e.Key)).Exists(), false)
		again := w.ingest(e)
		equal(w, "the same again [W4]", again.Outcome, ledger.Duplicate)
		equal(w, "the same again, of", again.Key, w.name.Key)
	}},
	{"an event before its registration, under another name [K6, W5]", func(w *world) {
		e := w.renamed("d1", "c-1")
		equal(w, "registered at first [W5]", w.ingest(e).Registered, false)
		r, err := w.ledger().Operations.Register(w.ctx, w.correlated("c-1"))
		if err != nil {
			w.Fatal(err)
		}
		equal(w, "planned", r.Planned, 1)
		equal(w, "state", w.record().State, operation.Succeeded)
		w.plannedOnce()
		// A later event under the other name finds the operation, too.
		again := e
		again.DeliveryID = "d2"
		if got := w.ingest(again); got.Key != w.name.Key || got.Outcome != ledger.Dropped {
			w.Errorf("a later one: %+v", got)
		}
	}},
	{"an event about another operation settles only that one; the one with its id is due [K6, W5]", func(w *world) {
		for _, issued := range []string{
			"batches/0123456789abcdefghijklmnopqrstuvwxyz", "interactions/v1_ChdOdXRoX2lk", "operations/9p5ug42emn2z",
			"batchPredictionJobs/123456789",
		} {
			w.name = nameOf(w, "batches/of-"+issued[len(issued)-4:])
			id := "c-" + issued
			if _, err := w.ledger().Operations.Register(w.ctx, w.correlated(id)); err != nil {
				w.Fatal(err)
			}
			e := w.renamed("d1", id)
			e.Name, e.Result.OutputFile = nameOf(w, issued), "files/of-another"
			counting := Count(w.store)
			r, err := w.over(counting).Operations.Ingest(w.ctx, e)
			want := ledger.Receipt{
				Key: e.Key, Outcome: ledger.Applied, Reason: operation.Advanced, State: operation.Succeeded, Settled: true,
				Disputed: w.name.Key,
			}
			if err != nil || r != want {
				w.Errorf("%+v, %v, want %+v", r, err, want)
			}
			equal(w, "commits", counting.Counts().Commits, 1)
			rec := w.record()
			equal(w, "state of the one that has the id", rec.State, operation.Pending)
			equal(w, "its result", rec.Result.OutputFile, "")
			equal(w, "it is due", !rec.DueAt.After(w.now()), true)
			equal(w, "the same again [W4]", w.ingest(e).Outcome, ledger.Duplicate)
			w.published()
			// A look-up and an event under its own name still count.
			equal(w, "settled by a look-up", w.ingest(w.lookup(operation.Succeeded, time.Minute)).Planned, 1)
			w.published(publish)
			again := e
			again.DeliveryID = "d2"
			equal(w, "outcome once it has ended", w.ingest(again).Outcome, ledger.Dropped)
			equal(w, "version of what has ended", w.record().Version, rec.Version+1)
		}
	}},
	{"a late event about another operation makes the one with its id due, too [K6, M8]", func(w *world) {
		e := w.renamed("d1", "")
		e.Name = nameOf(w, "operations/9p5ug42emn2z")
		w.ingest(e)
		if _, err := w.ledger().Operations.Register(w.ctx, w.correlated("c-1")); err != nil {
			w.Fatal(err)
		}
		e.DeliveryID, e.CorrelationID, e.UpdateTime = "d2", "c-1", w.start
		r := w.ingest(e)
		equal(w, "outcome", r.Outcome, ledger.Dropped)
		equal(w, "disputed", r.Disputed, w.name.Key)
		equal(w, "due", !w.record().DueAt.After(w.now()), true)
	}},
	{"a registration ignores events about another operation, and is due at once [K6, W5]", func(w *world) {
		e := w.renamed("d1", "c-1")
		e.Name = nameOf(w, "operations/9p5ug42emn2z")
		w.ingest(e)
		r, err := w.ledger().Operations.Register(w.ctx, w.correlated("c-1"))
		if err != nil || r.Planned != 0 || r.Record.State != operation.Pending || r.CorrelationErr != nil {
			w.Errorf("%+v, %v", r, err)
		}
		equal(w, "due", !w.record().DueAt.After(w.now()), true)
		equal(w, "its intent", w.intent("c-1").Operation, w.name.Key)
		equal(w, "whose registration bound it", w.intent("c-1").BoundBy, ledger.BySubmitter)
		w.published()
	}},
	{"an intent that an event bound proves nothing about other names [K6]", func(w *world) {
		w.ingest(w.intended("d1", "c-1", operation.Running, time.Second))
		w.intend("c-1")
		equal(w, "bound by", w.intent("c-1").BoundBy, operation.Webhook)
		e := w.renamed("d2", "c-1")
		equal(w, "the operation of another name", w.ingest(e).Key, e.Key)
	}},
	{"an operation that discovery bound proves nothing about other names [K6, G6]", func(w *world) {
		r := w.correlated("c-1")
		r.By = operation.Reconcile
		if _, err := w.ledger().Operations.Register(w.ctx, r); err != nil {
			w.Fatal(err)
		}
		equal(w, "bound by", w.intent("c-1").BoundBy, operation.Reconcile)
		e := w.renamed("d1", "c-1")
		equal(w, "the operation of another name", w.ingest(e).Key, e.Key)
		equal(w, "state", w.record().State, operation.Pending)
	}},
	{"an id that is not bound is no match [W5, K6]", func(w *world) {
		e := w.renamed("d1", "never heard of")
		r := w.ingest(e)
		equal(w, "registered", r.Registered, false)
		equal(w, "the operation", r.Key, e.Key)
	}},
	{"the event's own name is stronger than its correlation id", func(w *world) {
		if _, err := w.ledger().Operations.Register(w.ctx, w.correlated("c-1")); err != nil {
			w.Fatal(err)
		}
		e := w.renamed("d1", "c-1")
		if _, err := w.ledger().Operations.Register(w.ctx, ledger.Registration{Name: e.Name}); err != nil {
			w.Fatal(err)
		}
		equal(w, "the operation", w.ingest(e).Key, e.Key)
		equal(w, "state of the other", w.record().State, operation.Pending)
	}},
	{"ids of any text [K6]", func(w *world) {
		id := "a/b:c%\x00__x__\u2028 "
		if _, err := w.ledger().Operations.Register(w.ctx, w.correlated(id)); err != nil {
			w.Fatal(err)
		}
		equal(w, "the operation", w.ingest(w.renamed("d1", id)).Key, w.name.Key)
	}},
	{"an id that belongs to another operation [K6]", func(w *world) {
		if _, err := w.ledger().Operations.Register(w.ctx, w.correlated("c-1")); err != nil {
			w.Fatal(err)
		}
		other := w.correlated("c-1")
		other.Name = nameOf(w, "batches/other")
		r, err := w.ledger().Operations.Register(w.ctx, other)
		if err != nil || !errors.Is(r.CorrelationErr, ledger.ErrCorrelation) {
			w.Errorf("Register: %+v, %v, want a record and ErrCorrelation", r, err)
		}
		// The other is registered all the same [L2], without the id, and has its own events.
		equal(w, "the id of the other", r.Record.CorrelationID, "")
		e := w.renamed("d1", "c-1")
		e.Name = other.Name
		equal(w, "the operation of its event", w.ingest(e).Key, other.Name.Key)
		equal(w, "state of the first", w.record().State, operation.Pending)
		counting := Count(w.store)
		if _, err := w.over(counting).Operations.Register(w.ctx, w.correlated("c-1")); err != nil {
			w.Errorf("the same operation again: %v", err)
		}
		equal(w, "commits of the same again", counting.Counts().Commits, 0)
	}},
	{"two operations register one id at once [K6]", func(w *world) {
		other := w.correlated("c-1")
		other.Name = nameOf(w, "batches/other")
		var slow, fast ledger.Registered
		slowErr, fastErr := w.race(
			func(l *ledger.Ledger) (err error) {
				slow, err = l.Operations.Register(w.ctx, w.correlated("c-1"))
				return err
			},
			func(l *ledger.Ledger) (err error) { fast, err = l.Operations.Register(w.ctx, other); return err })
		if err := errors.Join(slowErr, fastErr); err != nil {
			w.Fatal(err)
		}
		equal(w, "the fast one has the id", fast.Record.CorrelationID, "c-1")
		equal(w, "the slow one has it", slow.Record.CorrelationID, "")
		if fast.CorrelationErr != nil || !errors.Is(slow.CorrelationErr, ledger.ErrCorrelation) {
			w.Errorf("the fast: %v; the slow: %v, want ErrCorrelation", fast.CorrelationErr, slow.CorrelationErr)
		}
	}},
}, both("a second event under another name against the registration [K6]", func(w *world) (a, b move, check func()) {
	first := w.renamed("d1", "c-1")
	first.State = operation.Running
	w.ingest(first) // so that the record under the other name is all that connects the two
	second := w.renamed("d2", "c-1")
	second.UpdateTime = second.UpdateTime.Add(time.Second)
	var hook ledger.Receipt
	return w.ingesting(second, &hook),
		func(l *ledger.Ledger) error { _, err := l.Operations.Register(w.ctx, w.correlated("c-1")); return err },
		func() {
			equal(w, "state", w.record().State, operation.Succeeded)
			w.plannedOnce()
		}
}), both("a correlated event against its registration [K6]", func(w *world) (a, b move, check func()) {
	var hook ledger.Receipt
	e := w.renamed("d1", "c-1")
	return w.ingesting(e, &hook),
		func(l *ledger.Ledger) error { _, err := l.Operations.Register(w.ctx, w.correlated("c-1")); return err },
		func() {
			// In either order the operation has it.
			equal(w, "state", w.record().State, operation.Succeeded)
			w.plannedOnce()
		}
}))
