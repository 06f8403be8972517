package reconcile_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/test/geminisim"
	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	grace    = 90 * time.Second
	interval = 5 * time.Minute
)

// A world is a reconciler between a real store and a simulated Gemini, on one clock that the test moves. The real SDK is in
// between.
type world struct {
	*testing.T
	clock  *clock
	file   string
	store  *sqlite.Store
	ledger *ledger.Ledger
	outbox *harness.Outbox
	sim    *geminisim.Sim
	client *lookup.Client
	server *httptest.Server
	log    *harness.Log

	mu    sync.Mutex
	asked map[string]int                                // look-ups by batch
	front func(http.ResponseWriter, *http.Request) bool // stands in front of the simulator; true: it has answered
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		T: t, clock: &clock{now: time.Date(2026, 1, 22, 12, 0, 0, 0, time.UTC)}, file: filepath.Join(t.TempDir(), "ledger.db"),
		outbox: &harness.Outbox{}, log: &harness.Log{}, asked: map[string]int{},
	}
	var err error
	if w.store, err = sqlite.Open(t.Context(), w.file, w.clock.Now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.store.Close() }) // some tests close it themselves
	w.ledger = w.over(w.store)
	w.sim = geminisim.New(geminisim.Config{Now: w.clock.Now})
	t.Cleanup(w.sim.Close)
	w.server = httptest.NewServer(http.HandlerFunc(w.gemini))
	t.Cleanup(w.server.Close)
	w.client, err = lookup.NewClient(t.Context(), lookup.Options{APIKey: "key", BaseURL: w.server.URL, HTTP: w.server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) over(store ledger.Store) *ledger.Ledger {
	w.Helper()
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: "publish", On: []operation.State{operation.Succeeded}}}
	l, err := ledger.New(store, settings, ledger.Options{Publisher: w.outbox})
	if err != nil {
		w.Fatal(err)
	}
	return l
}

// gemini is the API as the client sees it.
func (w *world) gemini(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	if r.Method == http.MethodGet {
		w.asked[strings.TrimPrefix(r.URL.Path, "/v1beta/")]++
	}
	front := w.front
	w.mu.Unlock()
	if r.Method == http.MethodGet && front != nil && front(rw, r) {
		return
	}
	w.sim.Handler().ServeHTTP(rw, r)
}

// inFront puts something in front of the simulator.
func (w *world) inFront(front func(http.ResponseWriter, *http.Request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.front = front
}

// lookups returns how often each batch was asked about.
func (w *world) lookups() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]int{}
	for name, n := range w.asked {
		all[name] = n
	}
	return all
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// logged returns the lines since the last call.
func (w *world) logged() []map[string]any {
	w.Helper()
	return w.log.Take(w)
}

// submit submits a batch that stays in a state until the test moves it, and returns its name.
func (w *world) submit(display string, hold geminisim.State) operation.Name {
	w.Helper()
	w.sim.Script(display, geminisim.Script{Hold: hold})
	body := fmt.Sprintf(`{"batch":{"displayName":%q,"inputConfig":{"fileName":"files/input"}}}`, display)
	r := httptest.NewRequestWithContext(w.Context(), http.MethodPost, "/v1beta/models/m:batchGenerateContent", strings.NewReader(body))
	r.Header.Set("X-Goog-Api-Key", "key")
	answer := httptest.NewRecorder()
	w.sim.Handler().ServeHTTP(answer, r)
	var batch struct{ Name string }
	if err := json.Unmarshal(answer.Body.Bytes(), &batch); err != nil || batch.Name == "" {
		w.Fatalf("%d %s", answer.Code, answer.Body)
	}
	name, err := operation.ParseName(batch.Name, "")
	if err != nil {
		w.Fatal(err)
	}
	return name
}

// register submits a batch and registers it.
func (w *world) register(display string, hold geminisim.State) operation.Name {
	w.Helper()
	name := w.submit(display, hold)
	if _, err := w.ledger.Register(w.Context(), ledger.Registration{Name: name}); err != nil {
		w.Fatal(err)
	}
	return name
}

// move moves a batch at Gemini, a little later.
func (w *world) move(name operation.Name, state geminisim.State) {
	w.Helper()
	w.clock.Advance(time.Second)
	if err := w.sim.SetState(string(name.Key), state); err != nil {
		w.Fatal(err)
	}
}

// deliver ingests what the webhook would say now.
func (w *world) deliver(name operation.Name, id string, state operation.State) {
	w.Helper()
	if _, err := w.ledger.Ingest(w.Context(), operation.Event{
		Name: name, DeliveryID: id, Source: operation.Webhook, State: state, UpdateTime: w.clock.Now(),
	}); err != nil {
		w.Error(err)
	}
}

func (w *world) reconciler(l *ledger.Ledger) *reconcile.Reconciler {
	return reconcile.New(l, w.client, reconcile.DefaultBudget, logging.New(w.log, "p"))
}

// pass makes a pass and checks what it says.
func (w *world) pass(want reconcile.Summary) {
	w.Helper()
	got, err := w.reconciler(w.ledger).Pass(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	if got != want {
		w.Errorf("the pass says %+v, want %+v", got, want)
	}
}

func (w *world) record(name operation.Name) operation.Record {
	w.Helper()
	story, err := w.ledger.Show(w.Context(), name.Key)
	if err != nil {
		w.Fatal(err)
	}
	return story.Record
}

// poison makes a document's body one that cannot be read, past the store and all its checks.
func (w *world) poison(path ledger.Path, expression string) {
	w.Helper()
	db, err := sql.Open("sqlite", w.file)
	if err != nil {
		w.Fatal(err)
	}
	defer db.Close()
	result, err := db.ExecContext(w.Context(), "UPDATE documents SET body = "+expression+" WHERE path = ?", string(path))
	if err != nil {
		w.Fatal(err)
	}
	if n, err := result.RowsAffected(); n != 1 || err != nil {
		w.Fatalf("%d rows, %v", n, err)
	}
}

// unreadable is a body whose field has the wrong kind; unparsable is none at all.
const (
	unreadable = `json_set(body, '$.attempts', 'many')`
	unparsable = `'no document'`
)
