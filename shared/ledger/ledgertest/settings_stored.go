package ledgertest

import (
	"errors"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

const settingsPath ledger.Path = "settings/planning"

// planning are settings that a process stores, with a retention of its own.
func planning(by, retention string) ledger.StoredSettings {
	return ledger.NewStoredSettings(by, []ledger.Rule{
		{Name: "publish", On: []operation.State{operation.Succeeded, operation.Failed}, JobKinds: []string{"b-*", "a-*"}},
		{Name: "page", Alerts: ledger.Alerts()},
	}, map[string]string{"OPLEDGER_RETENTION": retention})
}

// readSettings returns the stored settings.
func (w *world) readSettings() ledger.StoredSettings {
	w.Helper()
	stored, err := ledger.ReadSettings(w.ctx, w.store)
	if err != nil {
		w.Fatal(err)
	}
	return stored
}

// storeSettings stores settings by l, and returns those of before.
func (w *world) storeSettings(l *ledger.Ledger, s ledger.StoredSettings) ledger.StoredSettings {
	w.Helper()
	before, err := l.StoreSettings(w.ctx, s)
	if err != nil {
		w.Fatal(err)
	}
	return before
}

var settingsStored = join([]ledgerTest{
	{"what decides what is planned is what the last process stored [L7]", func(w *world) {
		equal(w, "of a new ledger", w.readSettings().IsZero(), true)
		equal(w, "before the first", w.storeSettings(w.ledger(), planning("serve", "336h")).IsZero(), true)
		first := w.readSettings()
		equal(w, "by", first.StoredBy, "serve")
		near(w, "when", w.now().Sub(first.StoredAt), 0)
		equal(w, "retention", first.Values["OPLEDGER_RETENTION"], "336h")
		equal(w, "rules", len(first.Rules), 2)
		equal(w, "the second", first.Rules[1].Name, "publish")
		if !slices.Equal(first.Rules[1].JobKinds, []string{"a-*", "b-*"}) {
			w.Errorf("job kinds %v", first.Rules[1].JobKinds)
		}
		w.store.Advance(time.Hour)
		equal(w, "before the next", w.storeSettings(w.ledger(), planning("webhook", "48h")).Digest, first.Digest)
		equal(w, "then", w.readSettings().Values["OPLEDGER_RETENTION"], "48h")
	}},
	{"the same settings are not written again", func(w *world) {
		w.storeSettings(w.ledger(), planning("serve", "336h"))
		before := w.document(settingsPath).Token
		reordered := ledger.NewStoredSettings("webhook", []ledger.Rule{
			{Name: "page", Alerts: []ledger.Alert{
				ledger.AlertUnbound, ledger.AlertDeadline, ledger.AlertDisabled, ledger.AlertMissing, ledger.AlertStuck,
			}},
			{Name: "publish", On: []operation.State{operation.Failed, operation.Succeeded}, JobKinds: []string{"a-*", "b-*"}},
		}, map[string]string{"OPLEDGER_RETENTION": "336h"})
		counting := Count(w.store)
		w.storeSettings(w.over(counting), reordered)
		equal(w, "the document", w.document(settingsPath).Token, before)
		equal(w, "reads", counting.Counts().Gets, 1)
		equal(w, "writes", counting.Counts().Writes, 0)
	}},
	{"what a newer revision stored stays, and is an error [L6]", func(w *world) {
		w.storeSettings(w.ledger(), planning("serve", "336h"))
		w.raise(settingsPath)
		before := w.document(settingsPath).Token
		if _, err := w.ledger().StoreSettings(w.ctx, planning("serve", "48h")); !errors.Is(err, ledger.ErrNewer) {
			w.Errorf("storing: %v", err)
		}
		if _, err := ledger.ReadSettings(w.ctx, w.store); !errors.Is(err, ledger.ErrNewer) {
			w.Errorf("reading: %v", err)
		}
		equal(w, "the document", w.document(settingsPath).Token, before)
	}},
}, unanswered("storing the settings", func(w *world, lossy func() *ledger.Ledger) {
	for _, retention := range []string{"336h", "48h"} { // created, then changed
		w.storeSettings(lossy(), planning("serve", retention))
		equal(w, "stored", w.readSettings().Values["OPLEDGER_RETENTION"], retention)
	}
}))
