package effect_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
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
func (w *itemsWorld) attempt(ctx context.Context, store ledger.Store, one effect.HandlerFunc) error {
	w.Helper()
	l := w.over(store)
	grant, err := l.Claim(ctx, w.key, name)
	if err != nil || grant.Verdict != ledger.Claimed {
		w.Fatalf("%+v %v", grant, err)
	}
	handler := effect.Each(one, effect.EachOptions{Ledger: l, Results: w.client})
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
		"a chunk":                {succeeds, 100},
		"what failed, at an end": {failsWith(errTarget), 250},
	} {
		w := newItemsWorld(t, many(250)).end()
		store, tally := &refusingStore{Store: w.store}, newTally()
		err := w.attempt(t.Context(), store, tally.that(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
			store.down.Store(true)
			return c.one(ctx, task)
		}))
		if !errors.Is(err, errStore) || len(tally.times) > c.most {
			t.Errorf("K4: %s: %d items, %v", about, len(tally.times), err)
		}
	}
}

// TestTotalThatIsNotRecorded: an attempt that only counted the items ends with the store's error where
// the count cannot be recorded [K4].
func TestTotalThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	store := &refusingStore{}
	w := newItemsWorld(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/files/") {
			_, _ = io.WriteString(out, `{"metadata":{"batchStats":{"requestCount":"300"}}}`)
			return
		}
		store.down.Store(true)
		out.WriteHeader(http.StatusServiceUnavailable)
	})).end()
	store.Store = w.store
	if err := w.attempt(t.Context(), store, succeeds); !errors.Is(err, errStore) {
		t.Errorf("K4: %v", err)
	}
}

// TestItemsOfALostLease: once the lease is lost nothing is recorded [S6].
func TestItemsOfALostLease(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, many(3)).end()
	store := &refusingStore{Store: w.store}
	ctx, lose := context.WithCancelCause(t.Context())
	err := w.attempt(ctx, store, func(context.Context, effect.Task) ([]ledger.Write, error) {
		store.commits.Store(0)
		lose(ledger.ErrLeaseLost)
		return nil, effect.Permanent(errTarget)
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
	w := newItemsWorld(t, many(2, 10_000)).end()
	store := lean{&narrow{Store: w.store}, 5_000}
	report, err := w.runner(store, failsPermanently()).Run(t.Context(), w.message())
	if err != nil || report.Outcome != effect.Died {
		t.Fatalf("K4: %+v %v", report, err)
	}
	w.stands("DEAD done 0 failed 2 of 2")
	if item := w.item("review-0"); item.State != ledger.ItemFailed || item.Response != "" {
		t.Errorf("K4: %+v", item)
	}
}

func failsPermanently() effect.HandlerFunc { return failsWith(effect.Permanent(errTarget)) }

// TestReplayThatIsNotRecorded: items of a replay that are too large to be kept are made to wait for the
// download, or the attempt ends with the store's error [G5, K4].
func TestReplayThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, many(1, ledger.MaxKeptBytes)).end()
	w.run(t.Context(), failsPermanently(), effect.Died)
	w.reopen("r-1")
	store := &refusingStore{Store: w.store}
	l := w.over(store)
	grant, err := l.Claim(t.Context(), w.key, name)
	if err != nil || grant.Verdict != ledger.Claimed {
		t.Fatalf("%+v %v", grant, err)
	}
	store.down.Store(true)
	one := effect.HandlerFunc(func(context.Context, effect.Task) ([]ledger.Write, error) {
		t.Error("K4: performed although it could not be recorded that it waits")
		return nil, nil
	})
	_, err = effect.Each(one, effect.EachOptions{Ledger: l, Results: w.client}).
		Perform(t.Context(), effect.Task{Lease: grant.Lease})
	if !errors.Is(err, errStore) {
		t.Errorf("K4: %v", err)
	}
}
