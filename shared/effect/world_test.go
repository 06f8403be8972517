package effect_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	harness.SpendMemory()
	code := harness.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

const (
	key  operation.Key = "batches/a"
	name               = "publish"
	ttl                = 10 * time.Minute
)

// A world is a real store with one operation whose effect is planned.
type world struct {
	*testing.T
	ctx      context.Context
	store    *sqlite.Store
	settings ledger.Settings
}

// message is the message about the world's effect.
var message = ledger.Message{Operation: key, Effect: name, Attempt: 1}

// inWorld runs a test in a bubble where time passes only while every goroutine waits, and which
// ends only when every goroutine has.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, ctx: t.Context(), settings: ledger.DefaultSettings()}
		w.settings.ClaimTTL = ttl
		w.settings.MaxAttempts = 3
		w.settings.Rules = []ledger.Rule{{Name: name, On: []operation.State{operation.Succeeded}}}
		var err error
		if w.store, err = sqlite.Open(w.ctx, file, time.Now); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := w.store.Close(); err != nil {
				t.Error(err)
			}
		}()
		w.plan()
		test(w)
	})
}

// plan ends the world's operation, so that its effect is planned.
func (w *world) plan() {
	w.Helper()
	l := w.over(w.store)
	operationName := operation.Name{Key: key, Resource: string(key)}
	if _, err := l.Operations.Register(w.ctx, ledger.Registration{
		Name: operationName, Submission: operation.Submission{JobKind: "test"},
	}); err != nil {
		w.Fatal(err)
	}
	if _, err := l.Operations.Ingest(w.ctx, operation.Event{
		Name: operationName, DeliveryID: "m1", Source: operation.Webhook, State: operation.Succeeded, UpdateTime: time.Now(),
	}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) over(store ledger.Store) *ledger.Ledger {
	w.Helper()
	l, err := ledger.New(store, w.settings, ledger.Options{})
	if err != nil {
		w.Fatal(err)
	}
	return l
}

// runner returns a runner, one process of several, that performs the effect with perform.
func (w *world) runner(perform effect.HandlerFunc) *effect.Runner {
	return w.runnerOver(w.store, perform)
}

func (w *world) runnerOver(store ledger.Store, perform effect.HandlerFunc) *effect.Runner {
	return effect.NewRunner(w.over(store), map[string]effect.Handler{name: perform})
}

// run handles the message and checks the outcome.
func (w *world) run(r *effect.Runner, want effect.Outcome) effect.Report {
	w.Helper()
	report, err := r.Run(w.ctx, message)
	if err != nil {
		w.Fatalf("Run: %v", err)
	}
	if report.Outcome != want {
		w.Fatalf("Run: %s, want %s: %+v", report.Outcome, want, report)
	}
	return report
}

// effect returns the world's effect, and its status in the record.
func (w *world) effect() (ledger.Effect, operation.EffectStatus) {
	w.Helper()
	story, err := w.over(w.store).Operations.Show(context.WithoutCancel(w.ctx), key)
	if err != nil {
		w.Fatal(err)
	}
	if len(story.Effects) != 1 {
		w.Fatalf("%d effects", len(story.Effects))
	}
	return story.Effects[0], story.Record.Effects[name]
}

// performances are the attempts of a handler.
type performances struct {
	mu  sync.Mutex
	all []effect.Task
}

// that returns a handler that records the attempt and then calls do.
func (p *performances) that(do effect.HandlerFunc) effect.HandlerFunc {
	return func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		p.mu.Lock()
		p.all = append(p.all, task)
		p.mu.Unlock()
		return do(ctx, task)
	}
}

func (p *performances) tasks() []effect.Task {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]effect.Task(nil), p.all...)
}

func succeeds(context.Context, effect.Task) ([]ledger.Write, error) { return nil, nil }

func failsWith(err error) effect.HandlerFunc {
	return func(context.Context, effect.Task) ([]ledger.Write, error) { return nil, err }
}

// An outage is a store that can be switched off.
type outage struct {
	ledger.Store
	down atomic.Bool
}

func (w *world) outage() *outage {
	o := &outage{}
	o.Store = ledgertest.InjectFunc(w.store, func() ledgertest.Fault {
		if o.down.Load() {
			return ledgertest.FailBefore
		}
		return ledgertest.None
	})
	return o
}
