package reconcile_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	harness.AtOnce(8) // they wait while a pass keeps its pace
	harness.SpendMemory()
	goleak.VerifyTestMain(m)
}

const (
	grace    = 90 * time.Second
	interval = 5 * time.Minute
)

// A world is a reconciler between a real store and a simulated Gemini, with the real SDK in
// between, on one clock that the test moves.
type world struct {
	testing.TB
	clock  *harness.Clock
	file   string
	store  *sqlite.Store
	ledger *ledger.Ledger
	outbox *harness.Outbox
	sim    *geminisim.Sim
	client *lookup.Client
	server *httptest.Server
	log    *harness.Log
	alerts bool // see setting

	mu    sync.Mutex
	asked map[string]int                                // look-ups by operation
	front func(http.ResponseWriter, *http.Request) bool // stands in front of the simulator; true: it has answered
}

// A setting is how a world differs from the usual one.
type setting struct {
	sim    geminisim.Config
	alerts bool // an effect pages for every alert; else alerts are in the log
	// bubble says that the test is in a bubble of synctest, which cannot see that a request to a server is waited for:
	// requests reach the simulator without one.
	bubble bool
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldWith(t, setting{})
}

func newWorldWith(t testing.TB, s setting) *world {
	t.Helper()
	w := &world{
		TB: t, clock: harness.NewClock(time.Date(2026, 1, 22, 12, 0, 0, 0, time.UTC)),
		file:   filepath.Join(t.TempDir(), "ledger.db"),
		outbox: &harness.Outbox{}, log: &harness.Log{}, asked: map[string]int{},
	}
	var err error
	if w.store, err = sqlite.Open(t.Context(), w.file, w.clock.Now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.store.Close() }) // some tests close it themselves
	w.alerts = s.alerts
	w.ledger = w.over(w.store)
	s.sim.Now = w.clock.Now
	w.sim = geminisim.New(s.sim)
	t.Cleanup(w.sim.Close)
	options := lookup.Options{APIKey: "key", HTTP: &http.Client{Transport: direct(w.gemini)}}
	if !s.bubble {
		w.server = httptest.NewServer(http.HandlerFunc(w.gemini))
		t.Cleanup(w.server.Close)
		options.BaseURL, options.HTTP = w.server.URL, w.server.Client()
	}
	if w.client, err = lookup.NewClient(options); err != nil {
		t.Fatal(err)
	}
	return w
}

// inBubble runs a test in a bubble of synctest, where what it waits for takes no time: a pace, a pause, a budget.
func inBubble(t *testing.T, s setting, test func(t *testing.T, w *world)) {
	t.Helper()
	s.bubble = true
	synctest.Test(t, func(t *testing.T) { test(t, newWorldWith(t, s)) })
}

// A direct handler answers a client without a network between them.
type direct http.HandlerFunc

// RoundTrip returns what the handler answers, or why the client waits no longer.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	answered := make(chan *http.Response, 1)
	go func() {
		answer := httptest.NewRecorder()
		d(answer, r)
		answered <- answer.Result()
	}()
	select {
	case answer := <-answered:
		return answer, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// over returns a ledger over a store.
func (w *world) over(store ledger.Store) *ledger.Ledger {
	w.Helper()
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: "publish", On: []operation.State{operation.Succeeded}}}
	if w.alerts {
		settings.Rules = append(settings.Rules, ledger.Rule{Name: "page", Alerts: ledger.Alerts()})
	}
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
		// else it is a list
		if name, about := strings.CutPrefix(r.URL.Path, "/v1beta/"); about && strings.Contains(name, "/") {
			w.asked[name]++
		}
	}
	front := w.front
	w.mu.Unlock()
	if r.Method == http.MethodGet && front != nil && front(rw, r) {
		return
	}
	w.sim.Handler().ServeHTTP(rw, r)
}

// inFront puts a handler in front of the simulator.
func (w *world) inFront(front func(http.ResponseWriter, *http.Request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.front = front
}

// lookups returns how often each operation was looked up.
func (w *world) lookups() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.asked)
}

// logged returns the lines since the last call.
func (w *world) logged() []map[string]any {
	w.Helper()
	return w.log.Drain(w)
}

// outcomes counts the lines since the last call about an intent with an outcome.
func (w *world) outcomes(outcome, correlation string) (n int) {
	w.Helper()
	for _, line := range w.logged() {
		if line["outcome"] == outcome && line["correlation"] == correlation {
			n++
		}
	}
	return n
}

// move changes a batch's state at Gemini, a little later.
func (w *world) move(name operation.Name, state geminisim.State) {
	w.Helper()
	w.clock.Advance(time.Second)
	if err := w.sim.SetState(string(name.Key), state); err != nil {
		w.Fatal(err)
	}
}

// deliver ingests what the webhook would deliver now.
func (w *world) deliver(name operation.Name, id string, state operation.State) {
	w.Helper()
	w.deliverAt(name, id, state, w.clock.Now())
}

// deliverAt ingests what the webhook would deliver of a state that began at a time.
func (w *world) deliverAt(name operation.Name, id string, state operation.State, at time.Time) {
	w.Helper()
	if _, err := w.ledger.Operations.Ingest(w.Context(), operation.Event{
		Name: name, DeliveryID: id, Source: operation.Webhook, State: state, UpdateTime: at,
	}); err != nil {
		w.Error(err)
	}
}

func (w *world) reconciler(l *ledger.Ledger) *reconcile.Reconciler {
	return reconcile.New(reconcile.Options{Ledger: l, Gemini: w.client, Log: logging.New(w.log, "p")})
}

// pass makes a pass and checks its summary, except how late it was.
func (w *world) pass(want reconcile.Summary) {
	w.Helper()
	if got := apartFromAge(w.passWith(reconcile.Options{})); got != want {
		w.Errorf("the pass says %+v, want %+v", got, want)
	}
}

func apartFromAge(s reconcile.Summary) reconcile.Summary {
	s.OldestOperationSeconds, s.OldestEffectSeconds = 0, 0
	return s
}

// passWith makes a pass with the options in o; the others are the world's.
func (w *world) passWith(o reconcile.Options) reconcile.Summary {
	w.Helper()
	o.Ledger, o.Gemini, o.Log = w.ledger, w.client, logging.New(w.log, "p")
	got, err := reconcile.New(o).Pass(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return got
}

func (w *world) record(name operation.Name) operation.Record {
	w.Helper()
	story, err := w.ledger.Operations.Show(w.Context(), name.Key)
	if err != nil {
		w.Fatal(err)
	}
	return story.Record
}

// poison replaces a document's body with an unreadable one, without the store's checks.
func (w *world) poison(path ledger.Path, expression string) {
	w.Helper()
	if n := w.exec("UPDATE documents SET body = "+expression+" WHERE path = ?", string(path)); n != 1 {
		w.Fatalf("%d rows", n)
	}
}

// unreadable is a body whose field has the wrong kind; unparsable is none at all.
const (
	// unreadable is a body whose field has the wrong kind; unparsable is no document.
	unreadable = `json_set(body, '$.attempts', 'many')`
	unparsable = `'no document'`
)
