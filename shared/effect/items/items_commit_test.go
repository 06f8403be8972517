package items_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/itemworld"
)

// A narrow store refuses commits of many documents, and keeps the sizes of the others.
type narrow struct {
	ledger.Store
	most int   // documents in one commit; 0: any number
	err  error // of a commit of more

	mu      sync.Mutex
	refused int
	commits []committed
}

type committed struct{ items, writes, bytes int }

func (s *narrow) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	c := committed{writes: len(writes)}
	for _, w := range writes {
		text, err := json.Marshal(w.Data)
		if err != nil {
			return nil, err
		}
		c.bytes += len(text)
		if w.Path.Collection() == ledger.ItemsCollection {
			c.items++
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.most > 0 && c.writes > s.most {
		s.refused++
		return nil, s.err
	}
	s.commits = append(s.commits, c)
	return s.Store.Commit(ctx, writes...)
}

// TestTooBigTogether: a chunk that the store does not accept in one commit is recorded in smaller
// ones, down to one item each, whether the error is that they are too big or only that the store is
// unavailable. Each item is performed once [K4].
func TestTooBigTogether(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		items, most int
		err         error
	}{
		{250, 9, ledger.ErrTooBig},
		{20, 3, ledger.ErrTooBig}, // the effect, its record and one item
		{20, 9, fmt.Errorf("its transaction is over: %w", ledger.ErrUnavailable)},
	} {
		t.Run(fmt.Sprint(test.most, " documents: ", test.err), func(t *testing.T) {
			t.Parallel()
			w := itemworld.New(t, itemworld.Many(test.items)).End()
			c := itemworld.NewTally()
			store := &narrow{Store: w.Store, most: test.most, err: test.err}
			report, err := w.Runner(store, c.That(itemworld.Succeeds)).Run(t.Context(), w.Message())
			if err != nil || report.Outcome != effect.Finished {
				t.Fatalf("%+v %v", report, err)
			}
			w.Stands(fmt.Sprintf("DONE done %d failed 0 of %[1]d", test.items))
			for item, times := range c.Times {
				if times != 1 {
					t.Errorf("%s was performed %d times", item, times)
				}
			}
			if store.refused == 0 {
				t.Error("no commit was refused")
			}
		})
	}
}

// TestExtraWritesAreBounded: a commit is bounded in documents and bytes, whatever the items bring,
// and no commit holds one item where more would fit.
func TestExtraWritesAreBounded(t *testing.T) {
	t.Parallel()
	const items = 100
	for what, test := range map[string]struct{ extra, bytes, writes, size int }{
		"many":  {9, 10, 400, 4 << 20},
		"large": {1, 300 << 10, 400, 4 << 20},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := itemworld.New(t, itemworld.Many(items)).End()
			store := &narrow{Store: w.Store}
			type note struct {
				Text string `json:"text" firestore:"text"`
			}
			report, err := w.Runner(store, effect.HandlerFunc(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
				extra := make([]ledger.Write, test.extra)
				for i := range extra {
					extra[i] = ledger.Write{
						Path: ledger.ResultPath("notes", task.Operation, fmt.Sprint(task.Item.Key, ".", i)),
						Data: note{strings.Repeat("x", test.bytes)},
					}
				}
				return extra, nil
			})).Run(t.Context(), w.Message())
			if err != nil || report.Outcome != effect.Finished {
				t.Fatalf("%+v %v", report, err)
			}
			recorded, together := 0, 0
			for _, c := range store.commits {
				recorded, together = recorded+c.items, max(together, c.items)
				// The effect and its record are two more.
				if c.writes > test.writes+2 || c.bytes > test.size {
					t.Errorf("a commit of %d items holds %d documents of %d bytes", c.items, c.writes, c.bytes)
				}
			}
			if recorded != items || together < 10 {
				t.Errorf("%d items were recorded, at most %d in one commit", recorded, together)
			}
		})
	}
}

// TestRefusedExtraWritesOfItem: documents of one item that the store can never accept fail that
// item alone.
func TestRefusedExtraWritesOfItem(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(30)).End()
	type note struct {
		Text string `json:"text" firestore:"text"`
	}
	w.Run(t.Context(), func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		text := "small"
		if task.Item.Index == 7 {
			text = strings.Repeat("x", ledger.MaxDocumentBytes+1)
		}
		return []ledger.Write{{Path: ledger.ResultPath("notes", task.Operation, task.Item.Key), Data: note{text}}}, nil
	}, effect.Died)
	w.Stands("DEAD done 29 failed 1 of 30")
	if item := w.Item("review-7"); item.State != ledger.ItemFailed || !strings.Contains(item.LastError,
		"cannot be written") {
		t.Errorf("%+v", item)
	}
	var got note
	if w.Read(ledger.ResultPath("notes", w.Key, "review-8"), &got); got.Text != "small" {
		t.Errorf("%+v", got)
	}
}

// TestExtraWriteExistsForItem: a document that may only be created, and exists, fails its item at
// once, and no other.
func TestExtraWriteExistsForItem(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(3)).End()
	path := func(item string) ledger.Path { return ledger.ResultPath("notes", w.Key, item) }
	if _, err := w.Store.Commit(t.Context(), ledger.Write{Path: path("review-1"),
		Data: results.ItemResult{Key: "theirs"}}); err != nil {
		t.Fatal(err)
	}
	report := w.Run(t.Context(), func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		return []ledger.Write{{Path: path(task.Item.Key), Data: results.ItemResult{Key: "ours"}}}, nil
	}, effect.Died)
	w.Stands("DEAD done 2 failed 1 of 3")
	if item := w.Item("review-1"); item.State != ledger.ItemFailed || !strings.Contains(item.LastError,
		string(path("review-1"))) || item.Attempts != 1 {
		t.Errorf("%+v, %+v", report, item)
	}
}

// TestWhatItemsCost pins the reads and writes of an effect per item: a chunk costs two reads, a
// write for the effect, and one for each item. Writing an item back is one more. The record is
// written with the first chunk of a second.
func TestWhatItemsCost(t *testing.T) {
	t.Parallel()
	const n, chunks = 250, 3
	one, two := effect.HandlerFunc(itemworld.Succeeds), results.Documents("reviews")
	for what, test := range map[string]struct {
		handler effect.Handler
		want    ledgertest.Counts
	}{
		"performed": {one, ledgertest.Counts{Gets: 2 + chunks, Read: 4 + 2*chunks, Commits: 2 + chunks, Writes: 3 + 1 +
			chunks + n}},
		"written back": {two, ledgertest.Counts{Gets: 2 + chunks, Read: 4 + 2*chunks, Commits: 2 + chunks, Writes: 3 + 1 +
			chunks + 2*n}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			now := time.Now()
			w := itemworld.NewAt(t, itemworld.Many(n), func() time.Time { return now }).End() // all within a second
			counting := ledgertest.Count(w.Store)
			report, err := w.Runner(counting, test.handler).Run(t.Context(), w.Message())
			if err != nil || report.Outcome != effect.Finished {
				t.Fatalf("%+v %v", report, err)
			}
			if got := counting.Counts(); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

// TestWhatATriedItemCosts: retrying an item finds its document by a query, and reads it again.
func TestWhatATriedItemCosts(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(50))
	w.Result.Counts = &operation.Counts{Total: 50}
	w.End()
	report := w.Run(t.Context(), func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Index == 7 {
			return nil, itemworld.ErrTarget
		}
		return nil, nil
	}, effect.Failed)
	w.Store.Advance(report.RetryAfter + time.Second)
	counting := ledgertest.Count(w.Store)
	report, err := w.Runner(counting, effect.HandlerFunc(itemworld.Succeeds)).Run(t.Context(), w.Message())
	if err != nil || report.Outcome != effect.Finished {
		t.Fatalf("%+v %v", report, err)
	}
	if got, want := counting.Counts(), (ledgertest.Counts{Gets: 3, Queries: 1, Read: 4 + 2 + 2, Commits: 3,
		Writes: 3 + 2 + 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
