package ledgertest

import (
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// scanLag is how long before the oldest due document, or before its start, a pass lets the next ones begin.
const scanLag = 15 * time.Minute

// scan makes a pass that reads the first due operation and does nothing, and returns where it began to read.
func (w *world) scan() time.Time {
	w.Helper()
	k := w.begun(w.ledger())
	from := k.ScanFrom(ledger.OperationsCollection)
	page, err := w.ledger().Operations.Due(w.ctx, k.Start(), from, 1)
	if err != nil {
		w.Fatal(err)
	}
	equal(w, "is a place", from.Path, "")
	k.Scanned(ledger.OperationsCollection, page.First)
	w.reported(k, 0)
	return from.At
}

// scansLater makes passes, an interval apart, and returns where the last one began to read.
func (w *world) scansLater(passes int) (from time.Time) {
	w.Helper()
	for range passes {
		w.store.Advance(w.settings.Interval)
		from = w.scan()
	}
	return from
}

var passScan = join([]ledgerTest{
	{"passes begin to read behind what has ended, and once an hour at the beginning [L4]", func(w *world) {
		w.register()
		w.store.Advance(w.settings.Interval)
		equal(w, "the first", w.scan(), time.Time{})
		due := w.record().DueAt
		equal(w, "while it is due", w.scansLater(6), due.Add(-scanLag))
		w.ingest(w.event("success", operation.Succeeded, time.Second))
		equal(w, "right after its end", w.scansLater(1), due.Add(-scanLag))
		before := w.now()
		between(w, "later", before.Sub(w.scansLater(1)), scanLag, scanLag+time.Second)
		equal(w, "an hour after the first", w.scansLater(4), time.Time{})
		equal(w, "then again behind", w.scansLater(1).IsZero(), false)
	}},
	{"a full scan that fails keeps what another found, and is tried again after three intervals [L4]", func(w *world) {
		w.scan()
		kept := w.scansLater(1)
		w.store.Advance(time.Hour)
		for range 2 {
			k := w.begun(w.ledger())
			equal(w, "the beginning", k.ScanFrom(ledger.OperationsCollection), ledger.Cursor{})
			w.reported(k, 0) // its query failed
			found := w.scansLater(2)
			equal(w, "behind, after it", found.After(kept), true)
			w.store.Advance(w.settings.Interval)
		}
		equal(w, "tried again", w.scan(), time.Time{})
		equal(w, "other collections", w.begun(w.ledger()).ScanFrom(ledger.EffectsCollection), ledger.Cursor{})
	}},
	{"what a pass found is kept from one that began before it [L4]", func(w *world) {
		w.scan()
		w.store.Advance(time.Hour)
		w.register()
		w.store.Advance(time.Hour)
		early := w.begun(w.ledger())
		early.ScanFrom(ledger.OperationsCollection)
		early.Scanned(ledger.OperationsCollection, time.Time{}) // before it was registered
		w.scan()
		w.reported(early, 0)
		equal(w, "begins", w.scansLater(1), w.record().DueAt.Add(-scanLag))
	}},
	{"where the clock has leapt, a pass reads from the beginning [R6]", func(w *world) {
		w.scan()
		for _, by := range []time.Duration{8 * time.Hour, -8 * time.Hour} {
			equal(w, "before", w.scansLater(1).IsZero(), false)
			w.leap(by)
			equal(w, "at once", w.scan(), time.Time{})
		}
		equal(w, "afterwards", w.scansLater(1).IsZero(), false)
	}},
	{"after a restore, and after an older revision's write, a pass reads from the beginning [L5]", func(w *world) {
		w.scan()
		w.store.Advance(time.Minute)
		w.settings.RestoredAt = w.now()
		equal(w, "restored", w.scansLater(1), time.Time{})
		equal(w, "afterwards", w.scansLater(1).IsZero(), false)
		type marks struct { // without Scans
			Version int64 `json:"version" firestore:"version"`
		}
		var stored marks
		doc := w.document(marksPath)
		if err := doc.Decode(&stored); err != nil {
			w.Fatal(err)
		}
		older := marks{Version: stored.Version + 1}
		if _, err := w.store.Commit(w.ctx, ledger.Write{Path: marksPath, Token: doc.Token, Data: older}); err != nil {
			w.Fatal(err)
		}
		equal(w, "after an older revision", w.scansLater(1), time.Time{})
		if err := w.ledger().Passes.StorePause(w.ctx, ledger.EffectsPaused); err != nil {
			w.Fatal(err)
		}
		equal(w, "after this revision's write", w.scansLater(1).IsZero(), false)
	}},
	{"nothing becomes due before now, whatever it waited for [L4]", func(w *world) {
		w.settings.StuckAfter = 6 * time.Hour
		late := w.registration()
		late.SubmittedAt = w.start.Add(-5 * time.Hour)
		if _, err := w.ledger().Operations.Register(w.ctx, late); err != nil {
			w.Fatal(err)
		}
		between(w, "an operation that is registered late", w.record().DueAt.Sub(w.start), 0, time.Minute)

		w.intend("c-1")
		w.store.Advance(5 * time.Hour)
		w.settings.StuckAfter = time.Hour
		now := w.now()
		if _, err := w.ledger().Intents.KeepName(w.ctx, "c-1", nameOf(w, "batches/other")); err != nil {
			w.Fatal(err)
		}
		between(w, "an intent whose time was shortened", w.intent("c-1").DueAt.Sub(now), 0, time.Minute)
	}},
	{"what a pass left that died long ago is due when the next one began [R6]", func(w *world) {
		w.aged()
		w.moved()
		w.store.Advance(5 * time.Hour)
		k := w.begun(w.ledger())
		for _, err := range k.Recover(w.ctx) {
			w.Error(err)
		}
		equal(w, "due", w.record().DueAt, k.Start())
	}},
})
