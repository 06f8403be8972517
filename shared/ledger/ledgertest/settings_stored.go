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

// leftOut returns the effects that were left out.
func (w *world) leftOut() []ledger.LeftOut {
	w.Helper()
	all, err := w.ledger().Effects.LeftOut(w.ctx)
	if err != nil {
		w.Fatal(err)
	}
	return all
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
	{"an effect that a start leaves out stays so until one has it again, and is known until it is resolved [L7]", func(
		w *world,
	) {
		none := ledger.NewStoredSettings("serve", nil, map[string]string{"OPLEDGER_RETENTION": "336h"})
		retained := ledger.NewStoredSettings("serve", nil, map[string]string{"OPLEDGER_RETENTION": "48h"})
		w.storeSettings(w.ledger(), planning("serve", "336h"))
		equal(w, "with all", len(w.leftOut()), 0)
		w.storeSettings(w.ledger(), none)
		first := w.leftOut()
		equal(w, "left out", len(first), 2)
		publish := first[1]
		equal(w, "the second", publish.Rule.Name, "publish")
		equal(w, "its kinds", len(publish.Rule.JobKinds), 2)
		equal(w, "by", publish.By, "serve")
		near(w, "since", w.now().Sub(publish.Since), 0)
		for _, next := range []ledger.StoredSettings{none, retained, none} {
			w.store.Advance(time.Minute)
			w.storeSettings(w.ledger(), next)
			equal(w, "still", w.leftOut()[1].Since, publish.Since)
			equal(w, "it lasts", w.leftOut()[1].Lasts(), true)
		}
		w.store.Advance(time.Minute)
		w.storeSettings(w.ledger(), planning("serve", "336h"))
		equal(w, "since, once planned again", w.leftOut()[1].Since, publish.Since)
		near(w, "until", w.now().Sub(w.leftOut()[1].Until), 0)
		w.storeSettings(w.ledger(), none)
		equal(w, "left out again", w.leftOut()[1].Lasts(), true)
		stands, err := w.ledger().Effects.ResolveLeftOut(w.ctx, "publish", ledger.Decision{By: "ada", Why: "it moved"})
		w.must("resolving", err)
		again, err := w.ledger().Effects.ResolveLeftOut(w.ctx, "publish", ledger.Decision{By: "bob", Why: "it did not"})
		w.must("resolving again", err)
		equal(w, "the first stands", again, stands)
		equal(w, "the decision", *w.leftOut()[1].Resolved, stands)
		w.storeSettings(w.ledger(), planning("serve", "336h"))
		near(w, "until, resolved and planned", w.now().Sub(w.leftOut()[1].Until), 0)
		equal(w, "the decision, once it is planned", *w.leftOut()[1].Resolved, stands)
		w.storeSettings(w.ledger(), none)
		equal(w, "left out once more", w.leftOut()[1].Resolved == nil, true)
		if _, err := w.ledger().Effects.ResolveLeftOut(w.ctx, "other", ledger.Decision{Why: "x"}); !errors.Is(err,
			ledger.ErrNotLeftOut) {
			w.Errorf("of another effect: %v", err)
		}
		_, err = w.ledger().Effects.ResolveLeftOut(w.ctx, "page", ledger.Decision{})
		equal(w, "without a reason", errors.Is(err, ledger.ErrNoReason), true)
	}},
	{"what is resolved is forgotten after the retention, and a default rule is missed by no one [L7]", func(w *world) {
		none, rule := ledger.NewStoredSettings("serve", nil, nil), planning("", "").Rules[1]
		w.storeSettings(w.ledger(), planning("serve", "336h"))
		if _, err := w.ledger().StoreSettings(w.ctx, none, rule); err != nil {
			w.Fatal(err)
		}
		equal(w, "without the default", len(w.leftOut()), 1)
		_, err := w.ledger().Effects.ResolveLeftOut(w.ctx, "page", ledger.Decision{By: "ada", Why: "it is not read"})
		w.must("resolving", err)
		w.store.Advance(w.ledger().Settings().Retention + time.Hour)
		w.storeSettings(w.ledger(), ledger.NewStoredSettings("serve", nil, map[string]string{"OPLEDGER_RETENTION": "48h"}))
		equal(w, "after the retention", len(w.leftOut()), 0)
	}},
	{"an older revision that begins with the effect again does not note it, and it is known all the same [L5]", func(
		w *world,
	) {
		w.storeSettings(w.ledger(), planning("serve", "336h"))
		w.storeSettings(w.ledger(), ledger.NewStoredSettings("serve", nil, nil))
		older := w.readSettings()
		older.Rules, older.StoredAt, older.Version = planning("", "").Rules, w.now().Add(time.Minute), older.Version+1
		doc := w.document(settingsPath)
		if _, err := w.store.Commit(w.ctx, ledger.Write{Path: doc.Path, Token: doc.Token, Data: older}); err != nil {
			w.Fatal(err)
		}
		equal(w, "until", w.leftOut()[1].Until, older.StoredAt)
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
