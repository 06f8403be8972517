package ledgertest

import (
	"errors"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

const refusalsPath ledger.Path = "passes/webhook"

// addRefusals adds n refusals, the first an hour before now by a clock that is a day ahead of the
// store's, and the last a minute before.
func (w *world) addRefusals(l *ledger.Ledger, n int) ledger.Refusals {
	w.Helper()
	now := w.now().Add(24 * time.Hour)
	var counted ledger.Refusals
	counted.Refuse("no-secret", now.Add(-time.Hour))
	for range n - 1 {
		counted.Refuse("signature", now.Add(-time.Minute))
	}
	return w.add(l, counted, now)
}

func (w *world) add(l *ledger.Ledger, counted ledger.Refusals, now time.Time) ledger.Refusals {
	w.Helper()
	stored, err := l.Passes.AddRefusals(w.ctx, counted, now)
	if err != nil {
		w.Fatal(err)
	}
	return stored
}

// accepted is what was counted where nothing but a delivery was accepted.
func accepted(at time.Time) (counted ledger.Refusals) {
	counted.Accept(at)
	return counted
}

func (w *world) refusals() ledger.Refusals {
	w.Helper()
	r, err := w.ledger().Passes.Refusals(w.ctx)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

var passRefusals = join([]ledgerTest{
	{"refusals are counted from one accepted delivery to the next, by the store's clock [W1]", func(w *world) {
		equal(w, "of a new ledger", w.refusals(), ledger.Refusals{})
		w.addRefusals(w.ledger(), 20)
		first := w.refusals()
		equal(w, "count", first.Count, 20)
		equal(w, "reason", first.Reason, "signature")
		near(w, "first", w.now().Sub(first.FirstAt), time.Hour)
		near(w, "last", w.now().Sub(first.LastAt), time.Minute)
		w.store.Advance(2 * time.Hour)
		w.addRefusals(w.ledger(), 2)
		equal(w, "count of both", w.refusals().Count, 22)
		equal(w, "first of both", w.refusals().FirstAt.Equal(first.FirstAt), true)
		w.add(w.ledger(), accepted(w.now()), w.now())
		equal(w, "count after an accepted one", w.refusals().Count, 0)
		equal(w, "first after it", w.refusals().FirstAt.IsZero(), true)
		near(w, "accepted", w.now().Sub(w.refusals().AcceptedAt), 0)
		w.addRefusals(w.ledger(), 1)
		equal(w, "count since", w.refusals().Count, 1)
		near(w, "accepted before", w.now().Sub(w.refusals().AcceptedAt), 0)
	}},
	{"refusals of one process in which one was accepted count from there", func(w *world) {
		w.addRefusals(w.ledger(), 20)
		now := w.now()
		var counted ledger.Refusals
		counted.Refuse("signature", now.Add(-3*time.Minute))
		counted.Accept(now.Add(-2 * time.Minute))
		counted.Refuse("no-secret", now.Add(-time.Minute))
		w.add(w.ledger(), counted, now)
		equal(w, "count", w.refusals().Count, 1)
		near(w, "first", w.now().Sub(w.refusals().FirstAt), time.Minute)
	}},
	{"a refusal a day after the last one begins another row", func(w *world) {
		w.addRefusals(w.ledger(), 20)
		w.store.Advance(ledger.RefusalsFor + time.Hour)
		w.addRefusals(w.ledger(), 2)
		equal(w, "count", w.refusals().Count, 2)
		near(w, "first", w.now().Sub(w.refusals().FirstAt), time.Hour)
	}},
	{"what is accepted is not written where nothing was refused", func(w *world) {
		counting := Count(w.store)
		w.add(w.over(counting), accepted(w.now()), w.now())
		equal(w, "reads", counting.Counts().Gets, 1)
		equal(w, "writes", counting.Counts().Writes, 0)
		w.addRefusals(w.over(counting), 20)
		equal(w, "writes of refusals", counting.Counts().Writes, 1)
	}},
	{"refusals of a newer revision stay, and are an error [L6]", func(w *world) {
		w.addRefusals(w.ledger(), 1)
		w.raise(refusalsPath)
		before := w.document(refusalsPath).Token
		if _, err := w.ledger().Passes.AddRefusals(w.ctx, ledger.Refusals{Count: 1}, w.now()); !errors.Is(err,
			ledger.ErrNewer) {
			w.Errorf("adding: %v", err)
		}
		if _, err := w.ledger().Passes.Refusals(w.ctx); !errors.Is(err, ledger.ErrNewer) {
			w.Errorf("reading: %v", err)
		}
		equal(w, "the document", w.document(refusalsPath).Token, before)
	}},
}, unanswered("adding refusals", func(w *world, lossy func() *ledger.Ledger) {
	equal(w, "created", w.addRefusals(lossy(), 3).Count, 3)
	equal(w, "changed", w.addRefusals(lossy(), 4).Count, 7)
	equal(w, "stored", w.refusals().Count, 7)
}))
