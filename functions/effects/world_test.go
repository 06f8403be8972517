package effects_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/test/harness"
)

// A line is a whole deployment without a network: operations whose effects are planned, a topic
// that keeps every message, passes that sweep, and a function that another revision may replace.
type line struct {
	*testing.T
	store    *sqlite.Store
	settings ledger.Settings
	ledger   *ledger.Ledger
	topic    harness.Outbox
	log      harness.Log

	mu  sync.Mutex
	ran map[string]int // by idempotency key
}

// onLine runs a test in a bubble where time passes only while every goroutine waits.
func onLine(t *testing.T, rules []string, test func(w *line)) {
	t.Helper()
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	synctest.Test(t, func(t *testing.T) {
		w := &line{T: t, settings: ledger.DefaultSettings(), ran: map[string]int{}}
		var err error
		if w.store, err = sqlite.Open(t.Context(), file, time.Now); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := w.store.Close(); err != nil {
				t.Error(err)
			}
		}()
		w.rules(rules...)
		test(w)
	})
}

// rules makes the settings plan these effects from now on.
func (w *line) rules(names ...string) {
	w.Helper()
	w.settings.Rules = nil
	for _, name := range names {
		w.settings.Rules = append(w.settings.Rules, ledger.Rule{Name: name, On: []operation.State{operation.Succeeded}})
	}
	var err error
	if w.ledger, err = ledger.New(w.store, w.settings, ledger.Options{Publisher: &w.topic}); err != nil {
		w.Fatal(err)
	}
}

// first is the ledger's own message about the effect publish of an operation.
func first(key operation.Key) ledger.Message {
	return ledger.Message{Operation: key, Effect: "publish", Attempt: 1}
}

// die makes the effect publish of the operations die.
func (w *line) die(keys ...operation.Key) {
	w.Helper()
	refuses := effect.HandlerFunc(func(context.Context, effect.Task) ([]ledger.Write, error) {
		return nil,
			effect.Permanent(errTarget)
	})
	runner := effect.NewRunner(w.ledger, map[string]effect.Handler{"publish": refuses})
	for _, key := range keys {
		if report, err := runner.Run(w.Context(), first(key)); err != nil || report.Outcome != effect.Died {
			w.Fatalf("%+v %v", report, err)
		}
	}
}

// plan ends n operations.
func (w *line) plan(n int) {
	w.Helper()
	for i := range n {
		name := operation.Name{Key: operation.Key(fmt.Sprintf("batches/%04d", i)), Resource: "batches/" + fmt.Sprint(i)}
		_, err := w.ledger.Operations.Register(w.Context(), ledger.Registration{Name: name})
		if err == nil {
			_, err = w.ledger.Operations.Ingest(w.Context(), operation.Event{
				Name: name, DeliveryID: fmt.Sprint(i), Source: operation.Webhook, State: operation.Succeeded,
			})
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

// revision returns a function that knows these effects.
func (w *line) revision(paused bool, known ...string) effects.Function {
	handlers := map[string]effect.Handler{}
	for _, name := range known {
		handlers[name] = effect.HandlerFunc(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.ran[task.IdempotencyKey]++
			return nil, nil
		})
	}
	return effects.New(effects.Options{
		Runner: effect.NewRunner(w.ledger, handlers), Paused: paused, Now: time.Now, Log: logging.New(&w.log, ""),
	})
}

// deliver delivers the messages of the topic. It returns how many must be redelivered, and the
// outcomes.
func (w *line) deliver(f effects.Function) (again int, outcomes map[effect.Outcome]int) {
	w.Helper()
	outcomes = map[effect.Outcome]int{}
	for _, m := range w.topic.Drain() {
		report, err := f.Run(w.Context(), m)
		if err != nil {
			w.Fatal(err)
		}
		outcomes[report.Outcome]++
		if report.Again() {
			again++
		}
	}
	return again, outcomes
}

// pass advances the clock by an interval and makes a reconcile pass.
func (w *line) pass() reconcile.Summary {
	w.Helper()
	time.Sleep(w.settings.Interval)
	summary, err := reconcile.New(reconcile.Options{Ledger: w.ledger, Log: logging.New(&w.log, "")}).Pass(w.Context())
	if err != nil || summary.Errors != 0 {
		w.Fatalf("%+v %v", summary, err)
	}
	return summary
}

// lines returns how many lines of the log have each pair of event and outcome, or of event and
// reason for an alert.
func (w *line) lines() map[string]int {
	w.Helper()
	counted := map[string]int{}
	for _, line := range w.log.Drain(w) {
		if line["event"] == "alert" {
			counted[fmt.Sprintf("alert %v", line["reason"])]++
		} else {
			counted[fmt.Sprintf("%v %v", line["event"], line["outcome"])]++
		}
	}
	return counted
}
