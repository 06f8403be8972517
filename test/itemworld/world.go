// Package itemworld is a world for tests of effects that read a batch's result: a ledger with a batch
// That ended, and a server with the result. It can never be slow, and no request to it is lost.
package itemworld

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/items"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

// Name is the name of the effect.
const Name = "publish"

// ResultFile is the file of the result.
const ResultFile = "files/batch-abc"

// A World is a store with a batch that ended, a server with its results, and an effect that
// runs once per item.
type World struct {
	testing.TB
	Store    *ledgertest.Skewed
	Settings ledger.Settings
	Client   *results.Client
	Key      operation.Key
	Result   operation.Result
	Outbox   *Sent
	Logged   *strings.Builder
	// ByPosition performs the effect for items without a key.
	ByPosition bool
}

// Sent is a publisher that keeps its messages.
type Sent struct {
	mu       sync.Mutex
	Messages []ledger.Message
	Err      error
}

// Publish implements ledger.Publisher.
func (s *Sent) Publish(_ context.Context, m ledger.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Err == nil {
		s.Messages = append(s.Messages, m)
	}
	return s.Err
}

// New is a world whose results are served by handler.
func New(t testing.TB, handler http.Handler) *World {
	t.Helper()
	return NewAt(t, handler, time.Now)
}

// NewAt is New with a store whose clock is now.
func NewAt(t testing.TB, handler http.Handler, now func() time.Time) *World {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return open(t, results.Options{APIKey: "key-of-the-project", BaseURL: server.URL, HTTP: server.Client()}, now)
}

// NewWithin is New for a test in a bubble of synctest, which has no network: the results are those of
// the transport.
func NewWithin(t testing.TB, transport http.RoundTripper) *World {
	t.Helper()
	return open(t, results.Options{APIKey: "key", HTTP: &http.Client{Transport: transport}}, time.Now)
}

func open(t testing.TB, o results.Options, now func() time.Time) *World {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err := results.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w := &World{
		TB: t, Store: ledgertest.Skew(store), Settings: ledger.DefaultSettings(), Client: client, Key: "batches/abc",
		Result: operation.Result{OutputFile: ResultFile}, Outbox: &Sent{}, Logged: &strings.Builder{},
	}
	w.Settings.Rules = []ledger.Rule{{Name: Name, On: []operation.State{operation.Succeeded}}}
	return w
}

// End ends the batch, so that its effect is planned.
func (w *World) End() *World {
	w.Helper()
	l := w.Over(w.Store)
	called := operation.Name{Key: w.Key, Resource: string(w.Key)}
	if _, err := l.Operations.Register(w.Context(), ledger.Registration{
		Name: called, Submission: operation.Submission{JobKind: "test"},
	}); err != nil {
		w.Fatal(err)
	}
	if _, err := l.Operations.Ingest(w.Context(), operation.Event{
		Name: called, DeliveryID: "m1", Source: operation.Webhook, State: operation.Succeeded, UpdateTime: time.Now(),
		Result: w.Result,
	}); err != nil {
		w.Fatal(err)
	}
	w.Outbox.Messages = nil
	return w
}

// Over is a ledger over a store that wraps the world's.
func (w *World) Over(store ledger.Store) *ledger.Ledger {
	w.Helper()
	l, err := ledger.New(store, w.Settings, ledger.Options{Publisher: w.Outbox, Jitter: func() float64 { return 0 }})
	if err != nil {
		w.Fatal(err)
	}
	return l
}

// Runner is one process of several, over a store that wraps the world's.
func (w *World) Runner(store ledger.Store, one effect.Handler) *effect.Runner {
	l := w.Over(store)
	return effect.NewRunner(l, map[string]effect.Handler{Name: items.Each(one, items.Options{
		Ledger: l, Results: w.Client, Log: slog.New(slog.NewTextHandler(w.Logged, nil)), ByPosition: w.ByPosition,
	})})
}

// Message is the message about the world's effect.
func (w *World) Message() ledger.Message {
	return ledger.Message{Operation: w.Key, Effect: Name, Attempt: 1}
}

// Run runs the effect and checks the outcome.
func (w *World) Run(ctx context.Context, one effect.HandlerFunc, want effect.Outcome) effect.Report {
	w.Helper()
	report, err := w.Runner(w.Store, one).Run(ctx, w.Message())
	if err != nil {
		w.Fatalf("Run: %v", err)
	}
	if report.Outcome != want {
		w.Fatalf("Run: %s (%s), want %s: %v", report.Outcome, report.Verdict, want, report.Cause)
	}
	return report
}

// Loses runs the effect, whose result Gemini says it does not have, and again after a day: then it is
// dead of that.
func (w *World) Loses(ctx context.Context, one effect.HandlerFunc) effect.Report {
	w.Helper()
	w.Run(ctx, one, effect.Failed)
	w.Store.Advance(24 * time.Hour)
	return w.Run(ctx, one, effect.Died)
}

// Stands checks the effect's state and the progress of its items.
func (w *World) Stands(want string) ledger.Effect {
	w.Helper()
	story, err := w.Over(w.Store).Operations.Show(context.Background(), w.Key)
	if err != nil {
		w.Fatal(err)
	}
	e := story.Effects[0]
	p := story.Record.Progress[Name]
	if got := fmt.Sprintf("%s done %d failed %d of %d", e.State, p.Done, p.Failed, p.Total); got != want {
		w.Errorf("%s, want %s", got, want)
	}
	return e
}

// Progress returns the progress of the items.
func (w *World) Progress() ledger.ItemProgress {
	w.Helper()
	var e ledger.Effect
	w.Read(ledger.EffectPath(w.Key, Name), &e)
	if e.Progress == nil {
		return ledger.ItemProgress{}
	}
	return *e.Progress
}

// Item returns the document of one item.
func (w *World) Item(key string) (item ledger.Item) {
	w.Helper()
	w.Read(ledger.ItemPath(w.Key, Name, key), &item)
	return item
}

func (w *World) Read(path ledger.Path, into any) {
	w.Helper()
	snapshot, err := w.Store.Get(context.Background(), path)
	if err == nil {
		err = snapshot.Documents[0].Decode(into)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// A Tally counts how often each item was performed, and with which bytes.
type Tally struct {
	mu       sync.Mutex
	Times    map[string]int
	Payloads map[string]string
	Differ   []string
}

// NewTally returns an empty Tally.
func NewTally() *Tally { return &Tally{Times: map[string]int{}, Payloads: map[string]string{}} }

// That records the attempt and then calls do.
func (c *Tally) That(do effect.HandlerFunc) effect.HandlerFunc {
	return func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		c.mu.Lock()
		before, again := c.Payloads[task.IdempotencyKey]
		if again && before != string(task.Payload) {
			c.Differ = append(c.Differ, task.IdempotencyKey)
		}
		c.Payloads[task.IdempotencyKey] = string(task.Payload)
		c.Times[task.Item.Key]++
		c.mu.Unlock()
		return do(ctx, task)
	}
}

// Rewrite changes the document of an item, past what checks the ledger's own writes.
func (w *World) Rewrite(path ledger.Path, change func(*ledger.Item)) {
	w.Helper()
	Rewrite(w, path, change)
}

// Rewrite stores a changed document, past what checks the ledger's own writes.
func Rewrite[T any](w *World, path ledger.Path, change func(*T)) {
	w.Helper()
	var data T
	snapshot, err := w.Store.Get(context.Background(), path)
	if err == nil {
		err = snapshot.Documents[0].Decode(&data)
	}
	change(&data)
	if err == nil {
		write := ledger.Write{Path: path, Token: snapshot.Documents[0].Token, Data: data}
		_, err = w.Store.Commit(context.Background(), write)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// ErrTarget is the failure of a handler.
var ErrTarget = errors.New("the target is down")

// Succeeds is a handler that does nothing.
func Succeeds(context.Context, effect.Task) ([]ledger.Write, error) { return nil, nil }

// FailsWith is a handler that fails.
func FailsWith(err error) effect.HandlerFunc {
	return func(context.Context, effect.Task) ([]ledger.Write, error) { return nil, err }
}
