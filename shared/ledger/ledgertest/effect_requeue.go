package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// dueEffects returns a page of the effects that are due now.
func (w *world) dueEffects() ledger.Page[ledger.DueEffect] {
	w.Helper()
	page, err := w.ledger().Effects.Due(w.ctx, w.now(), ledger.Cursor{}, 100)
	if err != nil {
		w.Fatalf("Effects.Due: %v", err)
	}
	return page
}

// sweep is one pass of the sweep; it returns how many effects it handed over.
func (w *world) sweep() int {
	w.Helper()
	page := w.dueEffects()
	swept := 0
	for _, due := range page.Items {
		if err := w.ledger().Effects.Requeue(w.ctx, due, w.now()); err != nil && !isConflict(err) {
			w.Fatalf("Requeue: %v", err)
		} else if err == nil {
			swept++
		}
	}
	return swept
}

// sweepFor makes a pass at each interval of d, and returns after how many minutes one handed
// something over.
func (w *world) sweepFor(d time.Duration) (after []int) {
	w.Helper()
	for at := time.Duration(0); at < d; at += w.settings.Interval {
		if w.sweep() > 0 {
			after = append(after, int(at/time.Minute))
		}
		w.store.Advance(w.settings.Interval)
	}
	return after
}

// decline declines a message about the effect "publish".
func (w *world) decline() ledger.Verdict {
	w.Helper()
	verdict, err := w.ledger().Effects.Decline(w.ctx, w.name.Key, publish)
	if err != nil {
		w.Fatalf("Decline: %v", err)
	}
	return verdict
}

// A publisherFunc is a publisher that calls a function with each message.
type publisherFunc func() error

func (f publisherFunc) Publish(context.Context, ledger.Message) error { return f() }

var effectRequeue = join([]ledgerTest{
	{"a message that was lost is sent again, once per interval [R5]", func(w *world) {
		w.succeed()
		w.outbox.sent() // lost
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
	{"a CLAIMED effect is not requeued until its lease is over [R5, S2]", func(w *world) {
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
	{"a holder that ends after its lease answers the message that the sweep sent meanwhile [R5]", func(w *world) {
		for name, end := range map[string]func(ledger.Lease) error{
			"batches/done":     func(lease ledger.Lease) error { return w.ledger().Effects.Finish(w.ctx, lease) },
			"batches/dead":     func(lease ledger.Lease) error { return w.ledger().Effects.MarkDead(w.ctx, lease, errFailed) },
			"batches/released": func(lease ledger.Lease) error { w.release(lease, time.Hour); return nil },
			"batches/continued": func(lease ledger.Lease) error {
				_,
					err := w.ledger().Effects.Continue(w.ctx, lease)
				return err
			},
		} {
			w.name = nameOf(w, name)
			w.succeed()
			lease := w.granted(publish)
			w.store.Advance(w.settings.ClaimTTL + time.Second)
			if w.sweep() == 0 {
				w.Fatal("nothing was swept")
			}
			if err := end(lease); err != nil {
				w.Fatal(err)
			}
			equal(w, name+" has unanswered messages", w.effect(publish).Unanswered, 0)
		}
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
		if err := w.ledger().Effects.MarkDead(w.ctx, w.granted(publish), errFailed); err != nil {
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
	{"publishing fails: it is due at once, for the next pass [R5]", func(w *world) {
		w.succeed()
		w.store.Advance(time.Hour)
		w.outbox.err = errFailed
		for range 10 { // passes while the topic refuses messages
			w.store.Advance(time.Second)
			page := w.dueEffects()
			start := w.now()
			if err := w.ledger().Effects.Requeue(w.ctx, page.Items[0], start); err == nil || isConflict(err) {
				w.Errorf("Requeue: %v", err)
			}
			// Not as before: later passes may read from behind that time on [L4]. Nor for the same pass.
			between(w, "due", w.effect(publish).DueAt.Sub(operation.Instant(start)), time.Microsecond, time.Second)
		}
		w.outbox.err = nil
		w.outbox.sent()
		w.store.Advance(time.Second)
		equal(w, "swept", w.sweep(), 1)
		equal(w, "published", len(w.outbox.sent()), 1)
		equal(w, "unanswered", w.effect(publish).Unanswered, 1)
	}},
	{"publishing fails after another worker's claim: its lease stays [R5]", func(w *world) {
		w.succeed()
		page := w.dueEffects()
		l, err := ledger.New(w.store, w.settings, ledger.Options{Publisher: publisherFunc(func() error {
			w.granted(publish)
			return errFailed
		})})
		if err != nil {
			w.Fatal(err)
		}
		if err := l.Effects.Requeue(w.ctx, page.Items[0], w.now()); !errors.Is(err, errFailed) {
			w.Errorf("Requeue: %v", err)
		}
		equal(w, "due when the lease is over", w.effect(publish).DueAt, w.effect(publish).ClaimableAt)
	}},
	{"unanswered messages become rarer, to one an hour [R5]", func(w *world) {
		w.succeed()
		at := w.sweepFor(day)
		equal(w, "after minutes", fmt.Sprint(at[:8]), "[0 5 15 35 75 135 195 255]")
		equal(w, "in a day", len(at), 27)
		w.store.Advance(w.release(w.granted(publish), 0)) // a worker answers
		at = w.sweepFor(time.Hour)
		equal(w, "after a claim, after minutes", fmt.Sprint(at), "[0 5 15 35]")
	}},
	{"a long interval stays what it is [R5]", func(w *world) {
		w.settings.Interval, w.settings.LookupMaxInterval = 2*time.Hour, 2*time.Hour
		w.succeed()
		equal(w, "after minutes", fmt.Sprint(w.sweepFor(day)), "[0 120 240 360 480 600 720 840 960 1080 1200 1320]")
	}},
	{"a declined effect is requeued at each interval, and soon after a long silence [R5]", func(w *world) {
		w.succeed()
		w.sweepFor(5 * time.Hour) // no worker answers: the messages are an hour apart by now
		equal(w, "declined", w.decline(), ledger.Claimed)
		for range 12 {
			w.store.Advance(w.settings.Interval)
			equal(w, "swept", w.sweep(), 1)
			equal(w, "declined", w.decline(), ledger.Claimed)
		}
	}},
	{"a full queue is no error, and the effect stays due [R5]", func(w *world) {
		w.register()
		w.outbox.err = ledger.ErrQueueFull
		if r := w.ingest(w.event("d1", operation.Succeeded, time.Second)); r.Planned != 1 || r.PublishErr != nil {
			w.Errorf("%+v", r)
		}
		for range 3 {
			due := w.dueEffects().Items
			if len(due) != 1 || due[0].Effect.Unanswered != 0 {
				w.Fatalf("due: %+v", due)
			}
			if err := w.ledger().Effects.Requeue(w.ctx, due[0], w.now()); !errors.Is(err, ledger.ErrQueueFull) {
				w.Errorf("Requeue: %v", err)
			}
			w.store.Advance(time.Second)
		}
	}},
	{"without a publisher the effects wait [R5]", func(w *world) {
		l, err := ledger.New(w.store, w.settings, ledger.Options{})
		if err != nil {
			w.Fatal(err)
		}
		w.register()
		if r, err := l.Operations.Ingest(w.ctx,
			w.event("d1", operation.Succeeded, time.Second)); err != nil || r.Planned != 1 ||
			r.PublishErr != nil {
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
		err := l.Effects.Requeue(w.ctx, page.Items[0], w.now())
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
