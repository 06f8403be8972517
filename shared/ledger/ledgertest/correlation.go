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

// renamed is a success under a name that nobody registered, with a correlation id.
func (w *world) renamed(delivery, id string) operation.Event {
	e := w.event(delivery, operation.Succeeded, time.Second)
	e.Name = nameOf(w, "operations/some-other-form")
	e.CorrelationID = id
	return e
}

var correlationTests = join([]ledgerTest{
	{"an event under another name finds its operation by the id [K6]", func(w *world) {
		if _, err := w.ledger().Register(w.ctx, w.correlated("c-1")); err != nil {
			w.Fatal(err)
		}
		e := w.renamed("d1", "c-1")
		r := w.ingest(e)
		equal(w, "the operation", r.Key, w.name.Key)
		equal(w, "outcome", r.Outcome, ledger.Applied)
		equal(w, "registered", r.Registered, true)
		w.plannedOnce()
		equal(w, "the name to ask with [K5]", w.record().Name, w.name.Resource)
		equal(w, "a record under the other name", w.document(ledger.OperationPath(e.Key)).Exists(), false)
		again := w.ingest(e)
		equal(w, "the same again [W4]", again.Outcome, ledger.Duplicate)
		equal(w, "the same again, of", again.Key, w.name.Key)
	}},
	{"an event that came before its registration is taken in when it comes again [K6]", func(w *world) {
		e := w.renamed("d1", "c-1")
		equal(w, "registered at first [W5]", w.ingest(e).Registered, false)
		if _, err := w.ledger().Register(w.ctx, w.correlated("c-1")); err != nil {
			w.Fatal(err)
		}
		w.published()
		r := w.ingest(e)
		equal(w, "outcome", r.Outcome, ledger.Applied)
		equal(w, "the operation", r.Key, w.name.Key)
		w.plannedOnce()
	}},
	{"an id that nobody bound is no match [W5, K6]", func(w *world) {
		e := w.renamed("d1", "never heard of")
		r := w.ingest(e)
		equal(w, "registered", r.Registered, false)
		equal(w, "the operation", r.Key, e.Key)
	}},
	{"the event's own name is stronger than an id", func(w *world) {
		if _, err := w.ledger().Register(w.ctx, w.correlated("c-1")); err != nil {
			w.Fatal(err)
		}
		e := w.renamed("d1", "c-1")
		if _, err := w.ledger().Register(w.ctx, ledger.Registration{Name: e.Name}); err != nil {
			w.Fatal(err)
		}
		equal(w, "the operation", w.ingest(e).Key, e.Key)
		equal(w, "state of the other", w.record().State, operation.Pending)
	}},
	{"ids of any text [K6]", func(w *world) {
		id := "a/b:c%\x00__x__\u2028 "
		if _, err := w.ledger().Register(w.ctx, w.correlated(id)); err != nil {
			w.Fatal(err)
		}
		equal(w, "the operation", w.ingest(w.renamed("d1", id)).Key, w.name.Key)
	}},
	{"an id that is taken [K6]", func(w *world) {
		if _, err := w.ledger().Register(w.ctx, w.correlated("c-1")); err != nil {
			w.Fatal(err)
		}
		other := w.correlated("c-1")
		other.Name = nameOf(w, "batches/other")
		if _, err := w.ledger().Register(w.ctx, other); !errors.Is(err, ledger.ErrCorrelation) {
			w.Errorf("Register: %v, want ErrCorrelation", err)
		}
		equal(w, "a record of the other", w.document(ledger.OperationPath(other.Name.Key)).Exists(), false)
		counting := Count(w.store)
		if _, err := w.over(counting).Register(w.ctx, w.correlated("c-1")); err != nil {
			w.Errorf("the same operation again: %v", err)
		}
		equal(w, "commits of the same again", counting.Counts().Commits, 0)
	}},
	{"two operations register one id at once [K6]", func(w *world) {
		other := w.correlated("c-1")
		other.Name = nameOf(w, "batches/other")
		slowErr, fastErr := w.race(
			func(l *ledger.Ledger) error { _, err := l.Register(w.ctx, w.correlated("c-1")); return err },
			func(l *ledger.Ledger) error { _, err := l.Register(w.ctx, other); return err })
		if fastErr != nil || !errors.Is(slowErr, ledger.ErrCorrelation) {
			w.Errorf("the fast: %v; the slow: %v, want ErrCorrelation", fastErr, slowErr)
		}
		equal(w, "a record of the loser", w.document(ledger.OperationPath(w.name.Key)).Exists(), false)
	}},
}, both("a correlated event against its registration [K6]", func(w *world) (a, b move, check func()) {
	var hook ledger.Receipt
	e := w.renamed("d1", "c-1")
	return w.ingesting(e, &hook),
		func(l *ledger.Ledger) error { _, err := l.Register(w.ctx, w.correlated("c-1")); return err },
		func() {
			// Which of the two names it landed on depends on who was first; the redelivery, or a look-up, closes the gap.
			w.ingest(e)
			w.plannedOnce()
		}
}))
