package ledgertest

import (
	"errors"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// known returns the intent of a correlation id.
func (w *world) known(id string) ledger.Intent {
	w.Helper()
	intent, err := w.ledger().Intents.Read(w.ctx, id)
	if err != nil {
		w.Fatalf("Intent %q: %v", id, err)
	}
	return intent
}

// unknown checks that the ledger does not know a correlation id.
func (w *world) unknown(id string) {
	w.Helper()
	if intent, err := w.ledger().Intents.Read(w.ctx, id); !errors.Is(err, ledger.ErrNoIntent) {
		w.Errorf("Intent %q: %+v, %v, want ErrNoIntent", id, intent, err)
	}
}

var intentForgets = join([]ledgerTest{
	{"an intent is forgotten, also one that was given up, and its id is free [G6]", func(w *world) {
		w.unknown("i-1")
		w.intend("i-1")
		equal(w, "state", w.known("i-1").State, ledger.IntentOpen)
		w.store.Advance(w.settings.StuckAfter)
		w.giveUp()
		intent := w.known("i-1")
		equal(w, "state, later", intent.State, ledger.IntentAbandoned)
		for range 2 { // again is safe
			if err := w.ledger().Intents.Forget(w.ctx, intent); err != nil {
				w.Fatal(err)
			}
			w.unknown("i-1")
		}
		equal(w, "recorded again", w.intend("i-1").Created, true)
		if err := w.ledger().Intents.Forget(w.ctx, intent); err != nil {
			w.Fatal(err)
		}
		equal(w, "the new one stays", w.known("i-1").State, ledger.IntentOpen)
	}},
	{"an intent that is an operation's goes with it, or after it [G6, K6]", func(w *world) {
		if _, err := w.ledger().Operations.Register(w.ctx, w.correlated("c-1")); err != nil {
			w.Fatal(err)
		}
		intent := w.known("c-1")
		if err := w.ledger().Intents.Forget(w.ctx, intent); !errors.Is(err, ledger.ErrIntentInUse) {
			w.Errorf("Intents.Forget: %v, want ErrIntentInUse", err)
		}
		w.delete(ledger.OperationPath(w.name.Key)) // it has expired
		if err := w.ledger().Intents.Forget(w.ctx, intent); err != nil {
			w.Error(err)
		}
		w.unknown("c-1")
	}},
	{"an intent that changed since it was read is not forgotten [G6]", func(w *world) {
		before := w.intend("i-1")
		w.store.Advance(w.settings.StuckAfter)
		w.giveUp()
		if err := w.ledger().Intents.Forget(w.ctx, before); !isConflict(err) {
			w.Errorf("Intents.Forget: %v, want ErrConflict", err)
		}
		equal(w, "state", w.known("i-1").State, ledger.IntentAbandoned)
	}},
	{"an alert about what is no operation has a story, without a record [R4, G4]", func(w *world) {
		w.settings.Rules = []ledger.Rule{{Name: "page", Alerts: []ledger.Alert{ledger.AlertUnbound}}}
		if a, err := w.ledger().Passes.AlertAbout(w.ctx, "intents/i-1", ledger.AlertUnbound, w.start, ""); err != nil ||
			a.Planned != 1 {
			w.Fatalf("%+v, %v", a, err)
		}
		w.name = operation.Name{Key: "intents/i-1"}
		story := w.show()
		equal(w, "effects", len(story.Effects), 1)
		equal(w, "version of its record", story.Record.Version, 0)
	}},
}, lostly("Intents.Forget: gone [G6]", func(w *world, l *ledger.Ledger) {
	if err := l.Intents.Forget(w.ctx, w.intend("i-1")); err != nil {
		w.Fatal(err)
	}
	w.unknown("i-1")
}), both("forgetting an intent against binding it: one wins [G6, M6]", func(w *world) (a, b move, check func()) {
	intent := w.intend("i-1")
	var forgetErr error
	forget := func(l *ledger.Ledger) error {
		forgetErr = l.Intents.Forget(w.ctx, intent)
		return nil
	}
	bind := func(l *ledger.Ledger) error {
		_, err := l.Operations.Register(w.ctx, w.correlated("i-1"))
		return err
	}
	return forget, bind, func() {
		if forgetErr != nil && !isConflict(forgetErr) {
			w.Error(forgetErr)
		}
		equal(w, "bound", w.known("i-1").State, ledger.IntentBound) // also where it was gone: the registration has the id
	}
}))
