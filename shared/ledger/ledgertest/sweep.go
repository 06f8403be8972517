package ledgertest

import (
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// dueEffects returns a page of the effects that are due now.
func (w *world) dueEffects() ledger.Page[ledger.DueEffect] {
	w.Helper()
	page, err := w.ledger().DueEffects(w.ctx, w.now(), ledger.Cursor{}, 100)
	if err != nil {
		w.Fatalf("DueEffects: %v", err)
	}
	return page
}

// sweep is one pass of the sweep; it returns how many effects it handed over.
func (w *world) sweep() int {
	w.Helper()
	page := w.dueEffects()
	swept := 0
	for _, due := range page.Items {
		if err := w.ledger().Requeue(w.ctx, due, w.now()); err != nil && !isConflict(err) {
			w.Fatalf("Requeue: %v", err)
		} else if err == nil {
			swept++
		}
	}
	return swept
}

var sweepTests = join([]ledgerTest{
	{"a message that was lost is sent again, once per interval [R5]", func(w *world) {
		w.succeed()
		w.outbox.sent() // nobody heard it
		equal(w, "swept", w.sweep(), 1)
		sent := w.outbox.sent()
		if len(sent) != 1 || sent[0] != (ledger.Message{Operation: w.name.Key, Effect: publish, Attempt: 1}) {
			w.Errorf("sent: %+v", sent)
		}
		equal(w, "swept again", w.sweep(), 0)
		w.store.Advance(w.settings.Interval)
		equal(w, "swept after an interval", w.sweep(), 1)
		equal(w, "the effect can be claimed", w.claim(publish).Verdict, ledger.Claimed)
	}},
	{"what is worked on is left alone, until its lease is over [R5, S2]", func(w *world) {
		w.succeed()
		w.granted(publish)
		w.store.Advance(w.settings.ClaimTTL - time.Minute)
		equal(w, "swept", w.sweep(), 0)
		w.store.Advance(time.Minute + time.Second)
		w.outbox.sent()
		equal(w, "swept after the lease", w.sweep(), 1)
		if sent := w.outbox.sent(); len(sent) != 1 || sent[0].Attempt != 2 {
			w.Errorf("sent: %+v", sent)
		}
		equal(w, "seized", w.granted(publish).Seized, true)
	}},
	{"what backs off is swept when it may be claimed [S4]", func(w *world) {
		w.succeed()
		wait := w.release(w.granted(publish), time.Hour)
		w.store.Advance(wait - time.Minute)
		equal(w, "swept", w.sweep(), 0)
		w.store.Advance(time.Minute)
		equal(w, "swept, later", w.sweep(), 1)
		w.granted(publish)
	}},
	{"done and dead are never swept [R5, S7]", func(w *world) {
		w.succeed()
		w.finish(w.granted(publish))
		w.name = nameOf(w, "batches/other")
		w.succeed()
		if err := w.ledger().Bury(w.ctx, w.granted(publish), errFailed); err != nil {
			w.Fatal(err)
		}
		w.store.Advance(100 * day)
		equal(w, "swept", w.sweep(), 0)
	}},
	{"an effect of a running operation is swept, too [R5]", func(w *world) {
		w.settings.Rules = append(w.settings.Rules, ledger.Rule{Name: "started", On: []operation.State{operation.Running}})
		w.register()
		w.ingest(w.event("d1", operation.Running, time.Second))
		equal(w, "swept", w.sweep(), 1)
	}},
	{"publishing fails: it is due again after an interval [R5]", func(w *world) {
		w.succeed()
		page := w.dueEffects()
		w.outbox.err = errFailed
		if err := w.ledger().Requeue(w.ctx, page.Items[0], w.now()); err == nil || isConflict(err) {
			w.Errorf("Requeue: %v", err)
		}
		w.outbox.err = nil
		w.store.Advance(w.settings.Interval)
		equal(w, "swept", w.sweep(), 1)
	}},
	{"nobody to publish to: the effects wait [R5]", func(w *world) {
		l, err := ledger.New(w.store, w.settings, ledger.Options{})
		if err != nil {
			w.Fatal(err)
		}
		w.register()
		if r, err := l.Ingest(w.ctx, w.event("d1", operation.Succeeded, time.Second)); err != nil || r.Planned != 1 || r.PublishErr != nil {
			w.Errorf("%+v, %v", r, err)
		}
		equal(w, "due", len(w.dueEffects().Items), 1)
	}},
}, both("two sweeps publish once [R5, R6]", func(w *world) (a, b move, check func()) {
	w.succeed()
	w.published(publish)
	page := w.dueEffects()
	if len(page.Items) != 1 {
		w.Fatalf("%d effects are due", len(page.Items))
	}
	won := 0
	requeue := func(l *ledger.Ledger) error {
		err := l.Requeue(w.ctx, page.Items[0], w.now())
		if isConflict(err) {
			return nil
		}
		won++
		return err
	}
	return requeue, requeue, func() {
		equal(w, "sweeps that have it", won, 1)
		w.published(publish)
	}
}))
