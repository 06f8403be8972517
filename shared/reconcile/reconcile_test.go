package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestPages: a pass handles everything that is due, however many pages that is.
func TestPages(t *testing.T) {
	t.Parallel()
	inBubble(t, setting{}, func(t *testing.T, w *world) {
		names := w.many(201)
		w.clock.Advance(grace)
		w.pass(reconcile.Summary{Due: 201, Checked: 201, Running: 201})
		for _, name := range names {
			if n := w.lookups()[string(name.Key)]; n != 1 {
				t.Errorf("%s was looked up %d times", name.Key, n)
			}
		}
	})
}

// TestPoisoned: an unreadable record is counted and stays due. It does not keep others from being
// looked up, wherever it is in the order [R6].
func TestPoisoned(t *testing.T) {
	t.Parallel()
	for form, body := range map[string]string{"unreadable": unreadable, "unparsable": unparsable} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			inBubble(t, setting{}, func(t *testing.T, w *world) {
				names := w.many(105)
				poisoned := []int{0, 1, 50, 98, 104}
				for _, i := range poisoned {
					w.poison(ledger.OperationPath(names[i].Key), body)
				}
				w.clock.Advance(grace)
				healthy := len(names) - len(poisoned)
				w.pass(reconcile.Summary{Due: healthy, Checked: healthy, Running: healthy, Errors: len(poisoned)})
				w.pass(reconcile.Summary{Errors: len(poisoned)})
			})
		})
	}
}

// TestPoisonedPage: nor do unreadable records that fill the first page, including the last one,
// where the next page begins.
func TestPoisonedPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := w.many(103)
	for _, name := range names[:100] {
		w.poison(ledger.OperationPath(name.Key), unreadable)
	}
	w.clock.Advance(grace)
	w.pass(reconcile.Summary{Due: 3, Checked: 3, Running: 3, Errors: 100})
}

// TestPoisonedEnd: nor do records at the end of a page whose due time is unreadable. None is read
// twice.
func TestPoisonedEnd(t *testing.T) {
	t.Parallel()
	inBubble(t, setting{}, func(t *testing.T, w *world) {
		names := w.many(103)
		for _, name := range names[97:100] {
			w.poison(ledger.OperationPath(name.Key), unparsable)
		}
		w.clock.Advance(grace)
		w.pass(reconcile.Summary{Due: 100, Checked: 100, Running: 100, Errors: 3})
	})
}

// TestForeign: a document of another program in the same database that looks due is counted and
// left alone: it is not looked up, abandoned, published or expired [R6, L3].
func TestForeign(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.register("a", geminisim.StateRunning)
	past := w.clock.Now().Add(-24 * time.Hour)
	foreign := map[ledger.Path]any{
		"apps/x/operations/y": operation.Record{
			Version: 1, Key: "batches/theirs", Name: "batches/theirs", State: operation.Pending, Registered: true,
			CreatedAt: past, SubmittedAt: past, DueAt: past,
		},
		"apps/x/operations/y/effects/publish": ledger.Effect{
			Version: 1, Operation: "batches/theirs", Name: "publish", State: ledger.EffectPending, CreatedAt: past, DueAt: past,
		},
		"apps/x/intents/z": ledger.Intent{
			Version: 1, Submission: operation.Submission{CorrelationID: "theirs"}, State: ledger.IntentOpen, CreatedAt: past,
			DueAt: past},
	}
	before := map[ledger.Path]ledger.Token{}
	for path, data := range foreign {
		if _, err := w.store.Commit(t.Context(), ledger.Write{Path: path, Data: data}); err != nil {
			t.Fatal(err)
		}
		before[path] = w.document(path).Token
	}
	w.clock.Advance(grace)
	for range 2 {
		w.pass(reconcile.Summary{Due: 1, Checked: 1, Running: 1, Errors: len(foreign)})
		w.clock.Advance(interval)
	}
	for path, token := range before {
		if now := w.document(path).Token; now != token {
			t.Errorf("%s was written", path)
		}
	}
	if lists := w.sim.Stats().BatchLists; lists != 0 {
		t.Errorf("Gemini's list was asked for %d times, for an intent that is not the ledger's", lists)
	}
	if n := w.lookups()["batches/theirs"]; n != 0 || w.lookups()[string(name.Key)] != 2 {
		t.Errorf("look-ups: %v", w.lookups())
	}
	if sent := w.outbox.Drain(); len(sent) != 0 {
		t.Errorf("published %v", sent)
	}
}

func (w *world) document(path ledger.Path) ledger.Document {
	w.Helper()
	snapshot, err := w.store.Get(w.Context(), path)
	if err != nil {
		w.Fatal(err)
	}
	return snapshot.Documents[0]
}

// TestNothingReadable: where nothing can be read the pass returns an error. Where only effects or
// only operations can, it handles those.
func TestNothingReadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.many(1)
	w.clock.Advance(grace)
	w.pass(reconcile.Summary{Due: 1, Checked: 1, Running: 1})
	// The time can be told and documents can be read, but nothing can be found: a deployment without
	// its indexes.
	w.exec("ALTER TABLE documents RENAME COLUMN due_at TO gone")
	if got, err := w.reconciler(w.ledger).Pass(t.Context()); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("nothing can be found: %+v %v", got, err)
	}
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := w.reconciler(w.ledger).Pass(t.Context()); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("closed: %+v %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := w.reconciler(w.ledger).Pass(ctx); err == nil {
		t.Errorf("cancelled: %+v", got)
	}
}
