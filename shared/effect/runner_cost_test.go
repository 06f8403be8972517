package effect_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/log"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
)

// TestWhatAnEffectCosts pins the reads and writes of an effect, with its handler between claim and
// finish. test/load/README.md states them. TestWhatALifeCosts of the Firestore store pins what each costs
// there.
func TestWhatAnEffectCosts(t *testing.T) {
	t.Parallel()
	m := inFile(t)
	l := manyEnded(t, m, 1)
	m.Reset()
	var claim ledgertest.Counts
	runner := effect.NewRunner(l, map[string]effect.Handler{name: effect.HandlerFunc(func(ctx context.Context,
		task effect.Task) ([]ledger.Write, error) {
		claim = m.Counts()
		m.Reset()
		return log.New(slog.New(slog.DiscardHandler)).Perform(ctx, task)
	})})
	report, err := runner.Run(t.Context(), ledger.Message{Operation: nth(0), Effect: name, Attempt: 1})
	if err != nil || report.Outcome != effect.Finished {
		t.Fatalf("%+v %v", report, err)
	}
	if want := (ledgertest.Counts{Gets: 1, Read: 2, Commits: 1, Writes: 1}); claim != want {
		t.Errorf("the claim: %+v, want %+v", claim, want)
	}
	if got, want := m.Counts(), (ledgertest.Counts{Gets: 1, Read: 2, Commits: 1, Writes: 2}); got != want {
		t.Errorf("the finish: %+v, want %+v", got, want)
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
		if _, err := l.Operations.Register(t.Context(), ledger.Registration{
			Name: called, Submission: operation.Submission{JobKind: "test"},
		}); err != nil {
			return err
		}
		_, err := l.Operations.Ingest(t.Context(), operation.Event{
			Name: called, DeliveryID: "m1", Source: operation.Webhook, State: operation.Succeeded, UpdateTime: time.Now(),
			Result: operation.Result{OutputFile: "files/batch-abc"},
		})
		return err
	})
	return l
}
