package items_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/items"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/itemworld"
)

var errStore = errors.New("the store says no")

// A refusingStore counts commits, and refuses all while it is down.
type refusingStore struct {
	ledger.Store
	down    atomic.Bool
	commits atomic.Int64
}

func (s *refusingStore) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	s.commits.Add(1)
	if s.down.Load() {
		return nil, errStore
	}
	return s.Store.Commit(ctx, writes...)
}

// attempt claims the world's effect and makes one attempt, without a runner that records its outcome.
func attempt(w *itemworld.World, ctx context.Context, store ledger.Store, one effect.HandlerFunc) error {
	w.Helper()
	l := w.Over(store)
	grant, err := l.Effects.Claim(ctx, w.Key, itemworld.Name)
	if err != nil || grant.Verdict != ledger.Claimed {
		w.Fatalf("%+v %v", grant, err)
	}
	handler := items.Each(one, items.Options{Ledger: l, Results: w.Client})
	_, err = handler.Perform(ctx, effect.Task{Lease: grant.Lease})
	return err
}

// TestItemsThatAreNotRecorded: where the store refuses what is recorded, the attempt ends with the
// store's error. It performs no further chunk, whose outcomes would be lost, too [K4, S3].
func TestItemsThatAreNotRecorded(t *testing.T) {
	t.Parallel()
	for about, c := range map[string]struct {
		one  effect.HandlerFunc
		most int
	}{
		"a chunk":                {itemworld.Succeeds, 100},
		"what failed, at an end": {itemworld.FailsWith(itemworld.ErrTarget), 250},
	} {
		w := itemworld.New(t, itemworld.Many(250)).End()
		store, tally := &refusingStore{Store: w.Store}, itemworld.NewTally()
		err := attempt(w, t.Context(), store, tally.That(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
			store.down.Store(true)
			return c.one(ctx, task)
		}))
		if !errors.Is(err, errStore) || len(tally.Times) > c.most {
			t.Errorf("K4: %s: %d items, %v", about, len(tally.Times), err)
		}
	}
}

// TestTotalThatIsNotRecorded: an attempt that only counted the items ends with the store's error where
// the count cannot be recorded [K4].
func TestTotalThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	store := &refusingStore{}
	w := itemworld.New(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/files/") {
			_, _ = io.WriteString(out, `{"metadata":{"batchStats":{"requestCount":"300"}}}`)
			return
		}
		store.down.Store(true)
		out.WriteHeader(http.StatusServiceUnavailable)
	})).End()
	store.Store = w.Store
	if err := attempt(w, t.Context(), store, itemworld.Succeeds); !errors.Is(err, errStore) {
		t.Errorf("K4: %v", err)
	}
}

// TestItemsOfALostLease: once the lease is lost nothing is recorded [S6].
func TestItemsOfALostLease(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(3)).End()
	store := &refusingStore{Store: w.Store}
	ctx, lose := context.WithCancelCause(t.Context())
	err := attempt(w, ctx, store, func(context.Context, effect.Task) ([]ledger.Write, error) {
		store.commits.Store(0)
		lose(ledger.ErrLeaseLost)
		return nil, effect.Permanent(itemworld.ErrTarget)
	})
	if !errors.Is(err, ledger.ErrLeaseLost) || store.commits.Load() != 0 {
		t.Errorf("S6: %v, after %d commits", err, store.commits.Load())
	}
}

// A lean store refuses commits of more than so many bytes.
type lean struct {
	*narrow
	most int
}

func (s lean) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	for _, write := range writes {
		if item, ok := write.Data.(ledger.Item); ok && len(item.Response)+len(item.Error) > s.most {
			return nil, ledger.ErrTooBig
		}
	}
	return s.narrow.Commit(ctx, writes...)
}

// TestTooBigToBeKept: an item that FAILED and is too large for the store is recorded without its
// response [K4].
func TestTooBigToBeKept(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(2, 10_000)).End()
	store := lean{&narrow{Store: w.Store}, 5_000}
	report, err := w.Runner(store, failsPermanently()).Run(t.Context(), w.Message())
	if err != nil || report.Outcome != effect.Died {
		t.Fatalf("K4: %+v %v", report, err)
	}
	w.Stands("DEAD done 0 failed 2 of 2")
	if item := w.Item("review-0"); item.State != ledger.ItemFailed || item.Response != "" {
		t.Errorf("K4: %+v", item)
	}
}

func failsPermanently() effect.HandlerFunc {
	return itemworld.FailsWith(effect.Permanent(itemworld.ErrTarget))
}

// TestReplayThatIsNotRecorded: items of a replay that are too large to be kept are made to wait for the
// download, or the attempt ends with the store's error [G5, K4].
func TestReplayThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(1, ledger.MaxKeptBytes)).End()
	w.Run(t.Context(), failsPermanently(), effect.Died)
	reopen(w, "r-1")
	store := &refusingStore{Store: w.Store}
	l := w.Over(store)
	grant, err := l.Effects.Claim(t.Context(), w.Key, itemworld.Name)
	if err != nil || grant.Verdict != ledger.Claimed {
		t.Fatalf("%+v %v", grant, err)
	}
	store.down.Store(true)
	one := effect.HandlerFunc(func(context.Context, effect.Task) ([]ledger.Write, error) {
		t.Error("K4: performed although it could not be recorded that it waits")
		return nil, nil
	})
	_, err = items.Each(one, items.Options{Ledger: l, Results: w.Client}).
		Perform(t.Context(), effect.Task{Lease: grant.Lease})
	if !errors.Is(err, errStore) {
		t.Errorf("K4: %v", err)
	}
}
