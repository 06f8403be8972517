package effect_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

const resultFile = "files/batch-abc"

// An items world is a store with a batch that ended, a server with its results, and an effect that
// runs once per item.
type itemsWorld struct {
	testing.TB
	store    *ledgertest.Skewed
	settings ledger.Settings
	client   *results.Client
	key      operation.Key
	result   operation.Result
	outbox   *sent
	log      *strings.Builder
	// byPosition performs the effect for items without a key.
	byPosition bool
}

// sent is a publisher that keeps its messages.
type sent struct {
	mu       sync.Mutex
	messages []ledger.Message
	err      error
}

func (s *sent) Publish(_ context.Context, m ledger.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.messages = append(s.messages, m)
	}
	return s.err
}

// newItemsWorld is a world whose results are served by handler.
func newItemsWorld(t testing.TB, handler http.Handler) *itemsWorld {
	t.Helper()
	return newItemsWorldAt(t, handler, time.Now)
}

// newItemsWorldAt is newItemsWorld with a store whose clock is now.
func newItemsWorldAt(t testing.TB, handler http.Handler, now func() time.Time) *itemsWorld {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), now)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err := results.New(results.Options{APIKey: "key-of-the-project", BaseURL: server.URL, HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	w := &itemsWorld{
		TB: t, store: ledgertest.Skew(store), settings: ledger.DefaultSettings(), client: client, key: "batches/abc",
		result: operation.Result{OutputFile: resultFile}, outbox: &sent{}, log: &strings.Builder{},
	}
	w.settings.Rules = []ledger.Rule{{Name: name, On: []operation.State{operation.Succeeded}}}
	return w
}

// lines serves the lines of a result file.
func lines(texts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Join(texts, "\n")) }
}

// many serves n items, made as they are read, each of about size bytes.
func many(n int, size ...int) http.HandlerFunc {
	filler := strings.Repeat("y", append(size, 500)[0])
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := range n {
			if _, err := fmt.Fprintf(w, "{\"key\":\"review-%d\",\"response\":{\"text\":\"%s\"}}\n", i, filler); err != nil {
				return
			}
		}
	}
}

// end ends the batch, so that its effect is planned.
func (w *itemsWorld) end() *itemsWorld {
	w.Helper()
	l := w.over(w.store)
	called := operation.Name{Key: w.key, Resource: string(w.key)}
	if _, err := l.Register(w.Context(), ledger.Registration{
		Name: called, Submission: operation.Submission{JobKind: "test"},
	}); err != nil {
		w.Fatal(err)
	}
	if _, err := l.Ingest(w.Context(), operation.Event{
		Name: called, DeliveryID: "m1", Source: operation.Webhook, State: operation.Succeeded, UpdateTime: time.Now(),
		Result: w.result,
	}); err != nil {
		w.Fatal(err)
	}
	w.outbox.messages = nil
	return w
}

func (w *itemsWorld) over(store ledger.Store) *ledger.Ledger {
	w.Helper()
	l, err := ledger.New(store, w.settings, ledger.Options{Publisher: w.outbox, Jitter: func() float64 { return 0 }})
	if err != nil {
		w.Fatal(err)
	}
	return l
}

// runner is one process of several, over a store that wraps the world's.
func (w *itemsWorld) runner(store ledger.Store, one effect.Handler) *effect.Runner {
	l := w.over(store)
	return effect.NewRunner(l, map[string]effect.Handler{name: effect.Each(one, effect.EachOptions{
		Ledger: l, Results: w.client, Log: slog.New(slog.NewTextHandler(w.log, nil)), ByPosition: w.byPosition,
	})})
}

// message is the message about the world's effect.
func (w *itemsWorld) message() ledger.Message {
	return ledger.Message{Operation: w.key, Effect: name, Attempt: 1}
}

// run runs the effect and checks the outcome.
func (w *itemsWorld) run(ctx context.Context, one effect.HandlerFunc, want effect.Outcome) effect.Report {
	w.Helper()
	report, err := w.runner(w.store, one).Run(ctx, w.message())
	if err != nil {
		w.Fatalf("Run: %v", err)
	}
	if report.Outcome != want {
		w.Fatalf("Run: %s (%s), want %s: %v", report.Outcome, report.Verdict, want, report.Cause)
	}
	return report
}

// loses runs the effect, whose result Gemini says it does not have, and again after a day: then it is
// dead of that.
func (w *itemsWorld) loses(ctx context.Context, one effect.HandlerFunc) effect.Report {
	w.Helper()
	w.run(ctx, one, effect.Failed)
	w.store.Advance(24 * time.Hour)
	return w.run(ctx, one, effect.Died)
}

// stands checks the effect's state and the progress of its items.
func (w *itemsWorld) stands(want string) ledger.Effect {
	w.Helper()
	story, err := w.over(w.store).Show(context.Background(), w.key)
	if err != nil {
		w.Fatal(err)
	}
	e := story.Effects[0]
	p := story.Record.Progress[name]
	if got := fmt.Sprintf("%s done %d failed %d of %d", e.State, p.Done, p.Failed, p.Total); got != want {
		w.Errorf("%s, want %s", got, want)
	}
	return e
}

// progress returns the progress of the items.
func (w *itemsWorld) progress() ledger.ItemProgress {
	w.Helper()
	var e ledger.Effect
	w.read(ledger.EffectPath(w.key, name), &e)
	if e.Progress == nil {
		return ledger.ItemProgress{}
	}
	return *e.Progress
}

// item returns the document of one item.
func (w *itemsWorld) item(key string) (item ledger.Item) {
	w.Helper()
	w.read(ledger.ItemPath(w.key, name, key), &item)
	return item
}

func (w *itemsWorld) read(path ledger.Path, into any) {
	w.Helper()
	snapshot, err := w.store.Get(context.Background(), path)
	if err == nil {
		err = snapshot.Documents[0].Decode(into)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// A tally counts how often each item was performed, and with which bytes.
type tally struct {
	mu       sync.Mutex
	times    map[string]int
	payloads map[string]string
	differ   []string
}

func newTally() *tally { return &tally{times: map[string]int{}, payloads: map[string]string{}} }

// that records the attempt and then calls do.
func (c *tally) that(do effect.HandlerFunc) effect.HandlerFunc {
	return func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		c.mu.Lock()
		before, again := c.payloads[task.IdempotencyKey]
		if again && before != string(task.Payload) {
			c.differ = append(c.differ, task.IdempotencyKey)
		}
		c.payloads[task.IdempotencyKey] = string(task.Payload)
		c.times[task.Item.Key]++
		c.mu.Unlock()
		return do(ctx, task)
	}
}

func (w *itemsWorld) rewrite(path ledger.Path, change func(*ledger.Item)) {
	w.Helper()
	rewrite(w, path, change)
}

// rewrite stores a changed document, past what checks the ledger's own writes.
func rewrite[T any](w *itemsWorld, path ledger.Path, change func(*T)) {
	w.Helper()
	var data T
	snapshot, err := w.store.Get(context.Background(), path)
	if err == nil {
		err = snapshot.Documents[0].Decode(&data)
	}
	change(&data)
	if err == nil {
		write := ledger.Write{Path: path, Token: snapshot.Documents[0].Token, Data: data}
		_, err = w.store.Commit(context.Background(), write)
	}
	if err != nil {
		w.Fatal(err)
	}
}
