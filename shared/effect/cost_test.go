package effect_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
)

// TestWhatAnEffectCosts pins what an effect asks of the store, with its handler between claim and finish: the README states it,
// and TestWhatALifeCosts of the Firestore store what each comes to there.
func TestWhatAnEffectCosts(t *testing.T) {
	t.Parallel()
	m := inFile(t)
	l := manyEnded(t, m, 1)
	m.Reset()
	var claim ledgertest.Counts
	runner := effect.NewRunner(l, map[string]effect.Handler{name: effect.HandlerFunc(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		claim = m.Counts()
		m.Reset()
		return effect.Log(slog.New(slog.DiscardHandler)).Perform(ctx, task)
	})})
	report, err := runner.Run(t.Context(), ledger.Message{Operation: nth(0), Effect: name, Attempt: 1})
	if err != nil || report.Outcome != effect.Finished {
		t.Fatalf("%+v %v", report, err)
	}
	if want := (ledgertest.Counts{Gets: 1, Read: 1, Commits: 1, Writes: 1}); claim != want {
		t.Errorf("the claim: %+v, want %+v", claim, want)
	}
	if got, want := m.Counts(), (ledgertest.Counts{Gets: 1, Read: 2, Commits: 1, Writes: 2}); got != want {
		t.Errorf("the finish: %+v, want %+v", got, want)
	}
}

// TestWhatItemsCost pins what an effect asks of the store that runs once per item: a chunk costs two reads, and a write for the
// effect and for each item; an item that is written back is one more. The record is written with the first chunk of a second.
func TestWhatItemsCost(t *testing.T) {
	t.Parallel()
	const n, chunks = 250, 3
	one, two := effect.HandlerFunc(succeeds), effect.Results("reviews")
	for what, test := range map[string]struct {
		handler effect.Handler
		want    ledgertest.Counts
	}{
		"performed":    {one, ledgertest.Counts{Gets: 2 + chunks, Read: 3 + 2*chunks, Commits: 2 + chunks, Writes: 3 + 1 + chunks + n}},
		"written back": {two, ledgertest.Counts{Gets: 2 + chunks, Read: 3 + 2*chunks, Commits: 2 + chunks, Writes: 3 + 1 + chunks + 2*n}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			now := time.Now()
			w := newItemsWorldAt(t, many(n), func() time.Time { return now }).end() // all within a second
			counting := ledgertest.Count(w.store)
			report, err := w.runner(counting, test.handler).Run(t.Context(), w.message())
			if err != nil || report.Outcome != effect.Finished {
				t.Fatalf("%+v %v", report, err)
			}
			if got := counting.Counts(); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

// TestWhatATriedItemCosts: the document of an item that is tried again is read, too.
func TestWhatATriedItemCosts(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, many(50))
	w.result.Counts = &operation.Counts{Total: 50}
	w.end()
	report := w.run(t.Context(), func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Index == 7 {
			return nil, errTarget
		}
		return nil, nil
	}, effect.Failed)
	w.store.Advance(report.RetryAfter + time.Second)
	counting := ledgertest.Count(w.store)
	report, err := w.runner(counting, effect.HandlerFunc(succeeds)).Run(t.Context(), w.message())
	if err != nil || report.Outcome != effect.Finished {
		t.Fatalf("%+v %v", report, err)
	}
	if got, want := counting.Counts(), (ledgertest.Counts{Gets: 3, Read: 3 + 2 + 1, Commits: 3, Writes: 3 + 2 + 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func nth(i int) operation.Key { return operation.Key(fmt.Sprintf("batches/n%d", i)) }

// manyEnded registers n operations and lets them end, so that each has an effect to run.
func manyEnded(t testing.TB, store ledger.Store, n int) *ledger.Ledger {
	t.Helper()
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: name, On: []operation.State{operation.Succeeded}}}
	l, err := ledger.New(store, settings, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	eachOf(t, 0, n, 16, func(i int) error {
		called := operation.Name{Key: nth(i), Resource: string(nth(i))}
		if _, err := l.Register(t.Context(), ledger.Registration{Name: called, JobKind: "test"}); err != nil {
			return err
		}
		_, err := l.Ingest(t.Context(), operation.Event{
			Name: called, DeliveryID: "m1", Source: operation.Webhook, State: operation.Succeeded, UpdateTime: time.Now(),
			Result: operation.Result{OutputFile: resultFile},
		})
		return err
	})
	return l
}
