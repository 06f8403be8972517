package ledgertest

import (
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// running registers the world's operation as submitted so long ago, and running.
func (w *world) running(age time.Duration) {
	w.Helper()
	r := w.registration()
	r.SubmittedAt = w.now().Add(-age)
	if _, err := w.ledger().Operations.Register(w.ctx, r); err != nil {
		w.Fatal(err)
	}
	w.ingest(w.event("d1", operation.Running, time.Second))
}

// lookups begins a pass on l when the world's operation is due, and returns what it finds.
func (w *world) lookups(l *ledger.Ledger) (*ledger.Lookups, []ledger.DueOperation) {
	w.Helper()
	if wait := w.record().DueAt.Sub(w.now()); wait > 0 {
		w.store.Advance(wait)
	}
	k, err := l.Passes.Begin(w.ctx, passTime)
	if err != nil {
		w.Fatal(err)
	}
	page, err := l.Operations.Due(w.ctx, k.Start(), ledger.Cursor{}, 100)
	if err != nil {
		w.Fatal(err)
	}
	return k, page.Items
}

// passTime is how long a pass of a test may take.
const passTime = 4 * time.Minute

// moved makes the first part of a widened look-up: mark and move.
func (w *world) moved() (*ledger.Lookups, ledger.DueOperation) {
	w.Helper()
	k, page := w.lookups(w.ledger())
	if len(page) != 1 {
		w.Fatalf("%d operations are due", len(page))
	}
	if err := k.Prepare(w.ctx, page, true); err != nil {
		w.Fatal(err)
	}
	p, err := k.Claim(w.ctx, page[0])
	if err != nil {
		w.Fatal(err)
	}
	return k, p.Operation
}

// waits checks after what time the world's operation is due again, up to the fifth of an interval
// that it is due early.
func (w *world) waits(k *ledger.Lookups, want time.Duration) {
	w.Helper()
	between(w, "due again after", w.record().DueAt.Sub(k.Start()), want-w.settings.Interval/5-time.Second,
		w.settings.Interval/5+time.Second)
}

// quiet lets no operation become stuck.
func (w *world) quiet() { w.settings.StuckAfter = 1000 * day }

var operationDueWidened = []ledgerTest{
	{"look-ups become rarer with age, up to the maximum [R6]", func(w *world) {
		w.quiet()
		w.settings.LookupMaxInterval = 2 * time.Hour
		for i, c := range []struct{ age, wait time.Duration }{
			{0, w.settings.Interval},
			{30 * time.Minute, w.settings.Interval},
			{2 * time.Hour, 10 * time.Minute},
			{12 * time.Hour, time.Hour},
			{23 * time.Hour, 115 * time.Minute},
			{30 * day, 2 * time.Hour},
		} {
			w.name = nameOf(w, "batches/aged-"+string(rune('a'+i)))
			w.running(c.age)
			k, due := w.moved()
			if _, err := w.ledger().Operations.IngestAnswer(w.ctx, due, w.lookup(operation.Running, time.Second)); err != nil {
				w.Fatal(err)
			}
			k.Conclude(due.Record.Key)
			w.waits(k, c.wait)
			if err := k.End(w.ctx); err != nil {
				w.Fatal(err)
			}
			w.ingest(w.event("end-"+string(w.name.Key), operation.Succeeded, 2*time.Second))
		}
	}},
	{"by default the maximum is an hour, and never less than the interval [R6]", func(w *world) {
		w.quiet()
		w.running(30 * day)
		k, _ := w.moved()
		w.waits(k, time.Hour)
		w.settings.Interval, w.settings.LookupMaxInterval = 3*time.Hour, 3*time.Hour
		k, _ = w.moved()
		w.waits(k, 3*time.Hour)
	}},
	{"nothing is widened where no webhook delivers [R6]", func(w *world) {
		w.quiet()
		w.running(30 * day)
		k, page := w.lookups(w.ledger())
		if err := k.Prepare(w.ctx, page, false); err != nil {
			w.Fatal(err)
		}
		if _, err := k.Claim(w.ctx, page[0]); err != nil {
			w.Fatal(err)
		}
		w.waits(k, w.settings.Interval)
	}},
	{"a look-up is not later than the next alert that it is stuck [R4, R6]", func(w *world) {
		w.settings.StuckAfter, w.settings.AlertEvery = 10*time.Hour, 30*time.Minute
		w.running(w.settings.StuckAfter - 20*time.Minute)
		submitted := w.record().SubmittedAt
		k, _ := w.moved() // now a twelfth of its age is 48 minutes
		between(w, "due for the alert", w.record().DueAt.Sub(submitted), w.settings.StuckAfter-time.Second, 2*time.Second)
		w.ended(k)
		for w.record().AlertedAt.IsZero() {
			k, _ = w.moved()
			w.ended(k)
		}
		between(w, "due for the next alert", w.record().DueAt.Sub(w.record().AlertedAt),
			w.settings.AlertEvery-time.Second, 2*time.Second)
	}},
	{"a look-up within an interval of an alert is not sooner for it [R6]", func(w *world) {
		w.settings.StuckAfter = 10 * time.Hour
		w.running(w.settings.StuckAfter - time.Minute)
		k, _ := w.moved()
		w.waits(k, w.settings.Interval)
	}},
	{"after an inconclusive look-up it is due within an interval [R6]", func(w *world) {
		w.quiet()
		w.running(day)
		k, due := w.moved()
		w.waits(k, time.Hour)
		if _, err := w.ledger().Operations.RecordAnswer(w.ctx, due, "rate-limited"); err != nil {
			w.Fatal(err)
		}
		w.waits(k, w.settings.Interval)
	}},
	{"what is missing is looked up in every interval, and alerted after as many answers [R4]", func(w *world) {
		w.quiet()
		w.running(day)
		answers, noted := 0, ledger.Recorded{}
		for ; !noted.Alert && answers < 100; answers++ {
			k, due := w.moved()
			var err error
			if noted, err = w.ledger().Operations.RecordAnswer(w.ctx, due, ledger.ConditionNotFound); err != nil {
				w.Fatal(err)
			}
			w.waits(k, w.settings.Interval)
			k.Conclude(due.Record.Key)
			w.ended(k)
			w.store.Advance(k.Start().Add(w.settings.Interval).Sub(w.now())) // as the schedule does
		}
		equal(w, "answers", answers, 13)
	}},
	{"who makes an operation due is not overruled by an answer without news", func(w *world) {
		w.quiet()
		w.running(day)
		_, due := w.moved()
		if made, err := w.ledger().Operations.MakeDueNow(w.ctx, w.name.Key); err != nil || !made {
			w.Fatal(made, err)
		}
		if _, err := w.ledger().Operations.IngestAnswer(w.ctx, due, w.lookup(operation.Running, time.Second)); err != nil {
			w.Fatal(err)
		}
		equal(w, "due", len(w.dueOperations().Items), 1)
	}},
}

// ended ends a pass.
func (w *world) ended(k *ledger.Lookups) {
	w.Helper()
	if err := k.End(w.ctx); err != nil {
		w.Fatal(err)
	}
}
