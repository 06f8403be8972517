package ledgertest

import (
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

var operationAnswer = []ledgerTest{
	{"a look-up without news is one read and one write [L4]", func(w *world) {
		w.running(0)
		w.store.Advance(w.settings.Grace + time.Second)
		counting := Count(w.store)
		l := w.over(counting)
		k, page := w.lookups(l)
		counting.Reset()
		page2, err := l.Operations.Due(w.ctx, k.Start(), ledger.Cursor{}, 100)
		if err != nil || len(page2.Items) != 1 || len(page) != 1 {
			w.Fatalf("%+v, %v", page2, err)
		}
		p, err := k.Claim(w.ctx, page2.Items[0])
		if err != nil {
			w.Fatal(err)
		}
		r, err := l.Operations.IngestAnswer(w.ctx, p.Operation, w.lookup(operation.Running, time.Second))
		if err != nil || r.Outcome != ledger.Dropped || r.Reason != operation.StaleOrEqualUpdateTime || r.Settled ||
			!r.Registered || r.State != operation.Running {
			w.Errorf("%+v, %v", r, err)
		}
		equal(w, "requests and documents", counting.Counts(), Counts{Queries: 1, Read: 1, Commits: 1, Writes: 1})
	}},
	{"an answer with news goes through the one door [M7, R2]", func(w *world) {
		w.running(0)
		_, due := w.moved()
		r, err := w.ledger().Operations.IngestAnswer(w.ctx, due, w.lookup(operation.Succeeded, time.Minute))
		if err != nil || r.Outcome != ledger.Applied || !r.Settled || r.Planned != 1 {
			w.Errorf("%+v, %v", r, err)
		}
		equal(w, "deliveries", len(w.show().Deliveries), 2)
	}},
	{"an answer without news, about what has ended since, changes nothing [M3]", func(w *world) {
		w.running(0)
		_, due := w.moved()
		w.ingest(w.event("d2", operation.Succeeded, time.Minute))
		version := w.record().Version
		r, err := w.ledger().Operations.IngestAnswer(w.ctx, due, w.lookup(operation.Running, time.Second))
		if err != nil || r.Outcome != ledger.Dropped || r.Settled {
			w.Errorf("%+v, %v", r, err)
		}
		equal(w, "version", w.record().Version, version)
	}},
	{"a condition is noted in one write, and nothing is read [R4]", func(w *world) {
		w.running(0)
		_, due := w.moved()
		counting := Count(w.store)
		if _, err := w.over(counting).Operations.RecordAnswer(w.ctx, due, "timeout"); err != nil {
			w.Fatal(err)
		}
		equal(w, "requests and documents", counting.Counts(), Counts{Commits: 1, Writes: 1})
		equal(w, "its condition", w.record().Condition, "timeout")
	}},
	{"a condition is noted on what has changed since [M6]", func(w *world) {
		w.running(0)
		_, due := w.moved()
		w.ingest(w.event("d2", operation.Running, time.Minute))
		if _, err := w.ledger().Operations.RecordAnswer(w.ctx, due, "timeout"); err != nil {
			w.Fatal(err)
		}
		rec := w.record()
		equal(w, "its condition", rec.Condition, "timeout")
		equal(w, "its time", rec.UpdateTime.Sub(w.start), time.Minute)
	}},
	{"no condition is noted on what has ended since [R4]", func(w *world) {
		w.running(0)
		_, due := w.moved()
		w.ingest(w.event("d2", operation.Succeeded, time.Minute))
		if _, err := w.ledger().Operations.RecordAnswer(w.ctx, due, "timeout"); err != nil {
			w.Fatal(err)
		}
		equal(w, "its condition", w.record().HasCondition(), false)
	}},
}
