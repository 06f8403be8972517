package ledgertest

import (
	"context"
	"errors"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// marksPath is the document of the marks.
const marksPath ledger.Path = "passes/lookups"

// marked returns the marks.
func (w *world) marked() []ledger.Mark {
	w.Helper()
	return read[ledger.Marks](w, marksPath).Marks
}

// aged lets an operation of a day run, whose look-ups are an hour apart.
func (w *world) aged() {
	w.Helper()
	w.quiet()
	w.running(day)
}

// recoversNewer makes a pass that finds one mark of a record of a newer revision.
func (w *world) recoversNewer() {
	w.Helper()
	k, err := w.ledger().Passes.Begin(w.ctx, passTime)
	if err != nil {
		w.Fatal(err)
	}
	if errs := k.Recover(w.ctx); len(errs) != 1 || !errors.Is(errs[0], ledger.ErrNewer) {
		w.Errorf("Recover: %v, want ErrNewer", errs)
	}
	w.ended(k)
}

// dueToNext makes the next pass after so long, and returns how many operations are due to it.
func (w *world) dueToNext(after time.Duration) int {
	w.Helper()
	w.store.Advance(after)
	k, err := w.ledger().Passes.Begin(w.ctx, passTime)
	if err != nil {
		w.Fatal(err)
	}
	for _, err := range k.Recover(w.ctx) {
		w.Errorf("Recover: %v", err)
	}
	page, err := w.ledger().Operations.Due(w.ctx, k.Start(), ledger.Cursor{}, 100)
	if err != nil {
		w.Fatal(err)
	}
	w.ended(k)
	return len(page.Items)
}

// A cutOff is a store whose commits are made, once cancel is set, and never answered: the caller's
// time ends before.
type cutOff struct {
	ledger.Store
	cancel context.CancelFunc
}

func (s *cutOff) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	tokens, err := s.Store.Commit(ctx, writes...)
	if s.cancel != nil && err == nil {
		s.cancel()
		return nil, ctx.Err()
	}
	return tokens, err
}

var operationMarks = join([]ledgerTest{
	{"a pass that ends leaves no mark [R6]", func(w *world) {
		w.aged()
		k, due := w.moved()
		marks := w.marked()
		want := ledger.LookedUp{Key: w.name.Key, Attempts: 1}
		if len(marks) != 1 || len(marks[0].Moved) != 1 || marks[0].Moved[0] != want ||
			!marks[0].Until.Equal(k.Start().Add(passTime)) {
			w.Fatalf("the marks are %+v", marks)
		}
		k.Conclude(due.Record.Key)
		if err := k.Prepare(w.ctx, nil, true); err != nil {
			w.Fatal(err)
		}
		equal(w, "marks, after a page that moves nothing for long", len(w.marked()), 1)
		w.ended(k)
		equal(w, "there are marks", w.document(marksPath).Exists(), false)
		equal(w, "due after an interval", w.dueToNext(w.settings.Interval), 0)
		equal(w, "due after an hour", w.dueToNext(time.Hour), 1)
	}},
	{"a pass that dies between the move and the answer costs one interval [R6]", func(w *world) {
		w.aged()
		w.moved()
		equal(w, "due after an interval", w.dueToNext(w.settings.Interval), 1)
		equal(w, "marks", len(w.marked()), 0)
	}},
	{"a page that is prepared while another is looked up leaves the other marked [R6]", func(w *world) {
		w.aged()
		w.name = nameOf(w, "batches/other")
		w.aged()
		k, page := w.lookups(w.ledger())
		if len(page) != 2 {
			w.Fatalf("%d operations are due", len(page))
		}
		for i := range page {
			if err := k.Prepare(w.ctx, page[i:i+1], true); err != nil {
				w.Fatal(err)
			}
		}
		if _, err := k.Claim(w.ctx, page[0]); err != nil {
			w.Fatal(err)
		}
		if marks := w.marked(); len(marks) != 1 || len(marks[0].Moved) != 2 {
			w.Errorf("the marks are %+v", marks)
		}
		equal(w, "due after an interval", w.dueToNext(w.settings.Interval), 2)
	}},
	{"what is prepared and not claimed leaves no mark at the end of the pass", func(w *world) {
		w.aged()
		k, page := w.lookups(w.ledger())
		if err := k.Prepare(w.ctx, page, true); err != nil {
			w.Fatal(err)
		}
		w.ended(k)
		equal(w, "there are marks", w.document(marksPath).Exists(), false)
	}},
	{"a pass that dies before the move costs nothing [R6]", func(w *world) {
		w.aged()
		k, page := w.lookups(w.ledger())
		if err := k.Prepare(w.ctx, page, true); err != nil {
			w.Fatal(err)
		}
		version := w.record().Version
		equal(w, "due at once", w.dueToNext(0), 1)
		equal(w, "due after an interval", w.dueToNext(w.settings.Interval), 1)
		equal(w, "version", w.record().Version, version)
	}},
	{"a mark within its time is left alone [R6]", func(w *world) {
		w.aged()
		k, due := w.moved()
		equal(w, "due to an overlapping pass", w.dueToNext(passTime-time.Minute), 0)
		equal(w, "marks", len(w.marked()), 1)
		k.Conclude(due.Record.Key)
		w.ended(k)
		equal(w, "marks of all passes", len(w.marked()), 0)
		equal(w, "due to the next pass", w.dueToNext(2*time.Minute), 0)
	}},
	{"two passes at once keep a mark each [R6]", func(w *world) {
		w.aged()
		first, _ := w.moved()
		w.name = nameOf(w, "batches/other")
		w.aged()
		second, due := w.moved()
		equal(w, "marks", len(w.marked()), 2)
		second.Conclude(due.Record.Key)
		w.ended(second)
		if marks := w.marked(); len(marks) != 1 || !marks[0].Start.Equal(first.Start()) {
			w.Errorf("the marks are %+v", marks)
		}
	}},
	{"what has no answer when the pass ends is due again within an interval [R6]", func(w *world) {
		w.aged()
		k, _ := w.moved()
		w.ended(k)
		equal(w, "due at once", w.dueToNext(time.Second), 0)
		equal(w, "due after an interval", w.dueToNext(w.settings.Interval), 1)
	}},
	{"what another pass has looked up since is not due again [R6]", func(w *world) {
		w.aged()
		w.moved()
		w.store.Advance(w.settings.Interval)
		late, err := w.ledger().Passes.Begin(w.ctx, passTime)
		if err != nil {
			w.Fatal(err)
		}
		equal(w, "due to the next pass", w.dueToNext(0), 1)
		k, due := w.moved() // and late has read the mark, too
		k.Conclude(due.Record.Key)
		w.ended(k)
		for _, err := range late.Recover(w.ctx) {
			w.Errorf("Recover: %v", err)
		}
		w.waits(k, time.Hour)
		w.ended(late)
	}},
	{"a delivery after the move keeps nothing from being due again [R6]", func(w *world) {
		w.aged()
		w.moved()
		w.ingest(w.event("d2", operation.Running, time.Hour))
		equal(w, "due after an interval", w.dueToNext(w.settings.Interval), 1)
	}},
	{"what has ended since is not due again", func(w *world) {
		w.aged()
		w.moved()
		w.ingest(w.event("d2", operation.Succeeded, time.Hour))
		equal(w, "due after an interval", w.dueToNext(w.settings.Interval), 0)
	}},
	{"without readable marks nothing is widened [R6]", func(w *world) {
		w.aged()
		unreadable := struct {
			Version int64  `json:"version" firestore:"version"`
			Marks   string `json:"marks" firestore:"marks"`
		}{1, "none"}
		if _, err := w.store.Commit(w.ctx, ledger.Write{Path: marksPath, Data: unreadable}); err != nil {
			w.Fatal(err)
		}
		k, due := w.moved()
		w.waits(k, w.settings.Interval)
		equal(w, "errors", len(k.Recover(w.ctx)), 1)
		k.Conclude(due.Record.Key)
		w.ended(k)
	}},
	{"a move that was made and not answered stays marked [R6]", func(w *world) {
		w.aged()
		store := &cutOff{Store: w.store}
		k, page := w.lookups(w.over(store))
		if err := k.Prepare(w.ctx, page, true); err != nil {
			w.Fatal(err)
		}
		ctx, cancel := context.WithCancel(w.ctx)
		store.cancel = cancel
		if _, err := k.Claim(ctx, page[0]); !errors.Is(err, context.Canceled) {
			w.Fatalf("Claim: %v, want context.Canceled", err)
		}
		store.cancel = nil
		w.waits(k, time.Hour)
		w.ended(k)
		equal(w, "marks", len(w.marked()), 1)
		equal(w, "due after an interval", w.dueToNext(w.settings.Interval), 1)
		equal(w, "marks at last", len(w.marked()), 0)
	}},
	{"a record of a newer revision keeps its mark until it is due in any case [L6, R6]", func(w *world) {
		w.aged()
		w.moved()
		record := ledger.OperationPath(w.name.Key)
		w.raise(record)
		w.store.Advance(w.settings.Interval)
		w.recoversNewer()
		equal(w, "marks", len(w.marked()), 1)
		Renumber(w.T, w.store.Store.(*Checked).Store, record, operation.SchemaVersion)
		equal(w, "due to the newer revision", w.dueToNext(time.Second), 1)
		equal(w, "marks at last", len(w.marked()), 0)

		w.moved()
		w.raise(record)
		w.store.Advance(time.Hour + time.Second)
		w.recoversNewer()
		equal(w, "marks when it is due in any case", len(w.marked()), 0)
	}},
	{"without a mark what waits for its submitter is looked up in every interval [R6]", func(w *world) {
		w.aged()
		w.ingest(w.event("d2", operation.RequiresAction, 2*time.Second))
		k, page := w.lookups(w.over(Inject(w.store, Times(3, FailBefore)...)))
		if err := k.Prepare(w.ctx, page, false); err == nil {
			w.Error("Prepare: no error")
		}
		if _, err := k.Claim(w.ctx, page[0]); err != nil {
			w.Fatal(err)
		}
		w.waits(k, w.settings.Interval)
	}},
	{"without a mark nothing is widened [R6]", func(w *world) {
		w.aged()
		l := w.over(Inject(w.store, Times(3, FailBefore)...))
		k, page := w.lookups(l)
		if err := k.Prepare(w.ctx, page, true); err == nil {
			w.Error("Prepare: no error")
		}
		if _, err := k.Claim(w.ctx, page[0]); err != nil {
			w.Fatal(err)
		}
		w.waits(k, w.settings.Interval)
	}},
}, unanswered("a mark and its end [R6]", func(w *world, lossy func() *ledger.Ledger) {
	w.aged()
	k, page := w.lookups(lossy())
	if err := k.Prepare(w.ctx, page, true); err != nil {
		w.Fatal(err)
	}
	equal(w, "marks", len(w.marked()), 1)
	if _, err := k.Claim(w.ctx, page[0]); err != nil {
		w.Fatal(err)
	}
	w.waits(k, time.Hour)
	w.ended(k)
	equal(w, "marks of what has no answer", len(w.marked()), 1)
	w.store.Advance(w.settings.Interval)
	k, err := lossy().Passes.Begin(w.ctx, passTime)
	if err != nil {
		w.Fatal(err)
	}
	for _, err := range k.Recover(w.ctx) {
		w.Errorf("Recover: %v", err)
	}
	w.ended(k)
	equal(w, "marks", len(w.marked()), 0)
	equal(w, "due", len(w.dueOperations().Items), 1)
}))
