package ledgertest

import (
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// dueOperations returns a page of what is due now.
func (w *world) dueOperations() ledger.Page[ledger.DueOperation] {
	w.Helper()
	page, err := w.ledger().Operations.Due(w.ctx, w.now(), ledger.Cursor{}, 100)
	if err != nil {
		w.Fatalf("Operations.Due: %v", err)
	}
	return page
}

// pass advances to the due time of the world's operation, and returns it as a pass of
// reconciliation finds it.
func (w *world) pass() (ledger.DueOperation, time.Time) {
	w.Helper()
	if wait := w.record().DueAt.Sub(w.now()); wait > 0 {
		w.store.Advance(wait)
	}
	page := w.dueOperations()
	if len(page.Items) != 1 {
		w.Fatalf("%d operations are due", len(page.Items))
	}
	return page.Items[0], w.now()
}

// postponing is a move that claims due for the pass that began at now; that another pass has it is
// no error.
func (w *world) postponing(due ledger.DueOperation, now time.Time, won *int) move {
	return func(l *ledger.Ledger) error {
		_, err := l.Passes.ClaimLookUp(w.ctx, due, now)
		if isConflict(err) {
			return nil
		}
		*won++
		return err
	}
}

var operationDue = join([]ledgerTest{
	{"now is the store's time", func(w *world) {
		w.store.Advance(100 * day)
		now, err := w.ledger().Now(w.ctx)
		if err != nil {
			w.Fatal(err)
		}
		near(w, "now", now.Sub(w.start), 100*day)
	}},
	{"nothing is due before the grace is over [R1]", func(w *world) {
		w.register()
		equal(w, "due at once", len(w.dueOperations().Items), 0)
		w.store.Advance(w.settings.Grace + time.Second)
		items := w.dueOperations().Items
		if len(items) != 1 || items[0].Name() != w.name {
			w.Errorf("due after the grace: %+v", items)
		}
	}},
	{"only what is registered and has not ended is due [L4, W5]", func(w *world) {
		w.ingest(w.event("d1", operation.Running, time.Second))
		w.name = nameOf(w, "batches/ended")
		w.succeed()
		w.store.Advance(day)
		equal(w, "due", len(w.dueOperations().Items), 0)
	}},
	{"a pass costs what is pending, not what is settled [L4]", func(w *world) {
		for i := range 20 {
			w.name = nameOf(w, fmt.Sprint("batches/settled-", i))
			w.succeed()
			w.finish(w.granted(publish))
		}
		for i := range 3 {
			w.name = nameOf(w, fmt.Sprint("batches/pending-", i))
			w.register()
		}
		w.store.Advance(w.settings.Grace + time.Second)
		counting := Count(w.store)
		l := w.over(counting)
		page, err := l.Operations.Due(w.ctx, w.now(), ledger.Cursor{}, 100)
		if err != nil || len(page.Items) != 3 {
			w.Errorf("due: %d, %v", len(page.Items), err)
		}
		effects, err := l.Effects.Due(w.ctx, w.now(), ledger.Cursor{}, 100)
		if err != nil || len(effects.Items) != 0 {
			w.Errorf("effects due: %d, %v", len(effects.Items), err)
		}
		equal(w, "documents read", counting.Counts().Read, 3)
	}},
	{"due order, in pages [R6]", func(w *world) {
		var want []operation.Key
		for i := range 7 {
			name := nameOf(w, fmt.Sprint("batches/n-", i))
			r := ledger.Registration{Name: name, SubmittedAt: w.start.Add(-time.Duration(100-i/3) * time.Hour)} // with ties
			if _, err := w.ledger().Operations.Register(w.ctx, r); err != nil {
				w.Fatal(err)
			}
			want = append(want, name.Key)
		}
		var got []operation.Key
		for after, more := (ledger.Cursor{}), true; more; more = after.Path != "" {
			page, err := w.ledger().Operations.Due(w.ctx, w.now(), after, 2)
			if err != nil {
				w.Fatal(err)
			}
			for _, due := range page.Items {
				got = append(got, due.Record.Key)
				if _, err := w.ledger().Passes.ClaimLookUp(w.ctx, due,
					w.now()); err != nil { // so it is due later than the page's end
					w.Fatal(err)
				}
			}
			after = page.Next
		}
		equal(w, "order", fmt.Sprint(got), fmt.Sprint(want))
	}},
	{"a document that cannot be read delays no other [R6]", func(w *world) {
		broken := struct {
			Version string    `json:"version" firestore:"version"`
			DueAt   time.Time `json:"dueAt" firestore:"dueAt"`
		}{"not a number", w.start.Add(-100 * day)}
		for i := range 3 {
			path := ledger.OperationPath(operation.Key(fmt.Sprint("broken-", i)))
			if _, err := w.store.Store.(*Checked).Store.Commit(w.ctx, ledger.Write{Path: path, Data: broken}); err != nil {
				w.Fatal(err)
			}
		}
		w.register()
		w.store.Advance(w.settings.Grace + time.Second)
		first, err := w.ledger().Operations.Due(w.ctx, w.now(), ledger.Cursor{}, 2)
		if err != nil || len(first.Items) != 0 || len(first.Broken) != 2 || first.Next.Path == "" {
			w.Fatalf("a page of broken ones: %+v, %v", first, err)
		}
		second, err := w.ledger().Operations.Due(w.ctx, w.now(), first.Next, 2)
		if err != nil || len(second.Items) != 1 || len(second.Broken) != 1 {
			w.Errorf("the page behind: %+v, %v", second, err)
		}
	}},
	{"an overlapping pass does not find what is claimed [R6]", func(w *world) {
		w.register()
		due, now := w.pass()
		if _, err := w.ledger().Passes.ClaimLookUp(w.ctx, due, now); err != nil {
			w.Fatal(err)
		}
		equal(w, "due to the other pass", len(w.dueOperations().Items), 0)
		rec := w.record()
		equal(w, "attempts [R3]", rec.LookUps, 1)
		if in := rec.DueAt.Sub(now); in > w.settings.Interval*9/10 || in < w.settings.Interval*8/10 {
			w.Errorf("it is due again in %v", in)
		}
		w.store.Advance(w.settings.Interval)
		equal(w, "due to the next pass", len(w.dueOperations().Items), 1)
	}},
	{"an operation that waits for its submitter is looked up rarely", func(w *world) {
		w.register()
		w.ingest(w.event("d1", operation.RequiresAction, time.Second))
		k, page := w.lookups(w.ledger())
		if err := k.Prepare(w.ctx, page, false); err != nil {
			w.Fatal(err)
		}
		if _, err := k.Claim(w.ctx, page[0]); err != nil {
			w.Fatal(err)
		}
		w.waits(k, 12*w.settings.Interval)
	}},
	{"stuck alerts once, and again only after AlertEvery [R4]", func(w *world) {
		w.settings.StuckAfter, w.settings.AlertEvery = time.Hour, 3*time.Hour
		w.register()
		var alerts []int
		var stuckSince time.Time
		for i := range 100 {
			due, now := w.pass()
			p, err := w.ledger().Passes.ClaimLookUp(w.ctx, due, now)
			if err != nil {
				w.Fatal(err)
			}
			equal(w, "stuck", p.Stuck, now.Sub(w.record().SubmittedAt) > w.settings.StuckAfter)
			if p.Alert {
				alerts = append(alerts, i)
				if since := w.record().StuckSince; stuckSince.IsZero() {
					stuckSince = since
				} else if !since.Equal(stuckSince) {
					w.Errorf("stuck since %v became %v", stuckSince, since)
				}
			}
			if w.Failed() {
				return
			}
			if len(alerts) == 2 {
				break
			}
		}
		if len(alerts) != 2 {
			w.Fatalf("alerts at passes %v", alerts)
		}
		between(w, "the first after", stuckSince.Sub(w.start), w.settings.StuckAfter, w.settings.Interval)
		between(w, "the second after", w.record().AlertedAt.Sub(stuckSince), w.settings.AlertEvery, w.settings.Interval)
		equal(w, "never closed by our own judgement", w.record().State, operation.Pending)
	}},
},
	both("two passes claim one operation [R6]", func(w *world) (a, b move, check func()) {
		w.register()
		due, now := w.pass()
		won := 0
		return w.postponing(due, now, &won), w.postponing(due, now, &won), func() {
			equal(w, "passes that have it", won, 1)
			equal(w, "attempts", w.record().LookUps, 1)
		}
	}),
	unanswered("ClaimLookUp: one's own move [R6]", func(w *world, lossy func() *ledger.Ledger) {
		w.register()
		due, now := w.pass()
		p, err := lossy().Passes.ClaimLookUp(w.ctx, due, now)
		if err != nil || p.Operation.Record.LookUps != 1 {
			w.Errorf("ClaimLookUp: %+v, %v", p, err)
		}
		equal(w, "attempts", w.record().LookUps, 1)
		if _, err := w.ledger().Operations.RecordAnswer(w.ctx, p.Operation, "later"); err != nil {
			w.Error(err)
		}
		equal(w, "noted on what was moved", w.record().Version, 3)
	}),
	[]ledgerTest{{"a delivery between the query and the move delays no look-up [R6]", func(w *world) {
		w.register()
		due, now := w.pass()
		w.ingest(w.event("d1", operation.Running, time.Second))
		p, err := w.ledger().Passes.ClaimLookUp(w.ctx, due, now)
		if err != nil || p.Operation.Record.State != operation.Running {
			w.Errorf("ClaimLookUp: %+v, %v", p, err)
		}
		equal(w, "attempts", w.record().LookUps, 1)
	}}},
	both("a pass against a webhook [R2, M6]", func(w *world) (a, b move, check func()) {
		w.register()
		due, now := w.pass()
		won := 0
		var hook ledger.Receipt
		return w.postponing(due, now, &won), w.ingesting(w.event("d1", operation.Succeeded, time.Second), &hook), func() {
			equal(w, "the webhook", hook.Outcome, ledger.Applied)
			equal(w, "attempts", w.record().LookUps, won)
			w.lives("settled", false, 0)
			w.plannedOnce()
		}
	}),
)
