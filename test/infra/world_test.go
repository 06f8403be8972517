package infra_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/metrics"
	"github.com/opledger/opledger/shared/effect/custom"
	effecthttp "github.com/opledger/opledger/shared/effect/http"
	effectlog "github.com/opledger/opledger/shared/effect/log"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// A world is what the four functions share: a real ledger, a simulated Gemini, and a receiver of
// effects, on a clock that the test moves. Each function has its own log, like a service in Cloud
// Logging.
type world struct {
	*testing.T
	clock  *harness.Clock
	file   string
	store  *sqlite.Store
	ledger *ledger.Ledger
	outbox *harness.Outbox
	logs   map[string]*harness.Log
	extra  lines // what child processes have printed

	sim    *geminisim.Sim
	api    *httptest.Server // in front of it
	before atomic.Value     // func(): called before each look-up of a batch
	client *lookup.Client

	effects  []spec.Spec
	receiver *httptest.Server // of the http effect
	answer   atomic.Int32     // its status
	knows    ledger.Pause     // of Reconcile
	count    func(string)     // of Webhook, as serve counts what it refuses
	counted  *metrics.Metrics // as serve counts its lines; nil: nothing does
}

var ends = []operation.State{operation.Succeeded, operation.Failed, operation.Cancelled, operation.Expired}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		T: t, clock: harness.NewClock(time.Date(2026, 1, 22, 12, 0, 0, 0, time.UTC)),
		file:   filepath.Join(t.TempDir(), "ledger.db"),
		outbox: &harness.Outbox{}, logs: map[string]*harness.Log{}, extra: lines{},
	}
	for _, function := range functions {
		w.logs[function] = &harness.Log{}
	}
	w.answer.Store(http.StatusOK)
	w.receiver = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(int(w.answer.Load()))
	}))
	t.Cleanup(w.receiver.Close)
	w.effects = []spec.Spec{
		{Name: "publish", Do: &effecthttp.Do{URL: w.receiver.URL}, On: ends},
		{Name: "note", Do: &effectlog.Do{}, Alerts: ledger.Alerts()},
		{Name: "each", Do: &effecthttp.Do{URL: w.receiver.URL}, Each: "item", On: []operation.State{operation.Succeeded}},
		{Name: "own", Do: &custom.Do{}, On: []operation.State{operation.Expired}},
	}
	w.openLedger()
	w.openGemini()
	return w
}

// openLedger opens the ledger with the effects of the world.
func (w *world) openLedger() {
	w.Helper()
	store, err := sqlite.Open(w.Context(), w.file, w.clock.Now)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = store.Close() }) // some situations close it themselves
	w.store = store
	settings := ledger.DefaultSettings()
	settings.Rules, settings.EnqueuedTokens = spec.Rules(w.effects), job.Quotas{"gemini-3.5-flash": 17}
	if w.ledger, err = ledger.New(w.store, settings, ledger.Options{Publisher: w.outbox}); err != nil {
		w.Fatal(err)
	}
}

// ledgerOf returns the ledger as a function has it: what it logs itself is in the function's log.
func (w *world) ledgerOf(function string) *ledger.Ledger {
	w.Helper()
	l, err := ledger.New(w.store, w.ledger.Settings(), ledger.Options{Publisher: w.outbox, Log: w.log(function)})
	if err != nil {
		w.Fatal(err)
	}
	return l
}

// log returns the logger of a function.
func (w *world) log(function string) *slog.Logger {
	log := logging.New(w.logs[function], "p")
	if w.counted != nil {
		log = w.counted.Log(log)
	}
	return log
}

// printed returns what the functions have printed since the last call.
func (w *world) printed() lines {
	w.Helper()
	all := lines{}
	for _, function := range functions {
		all[function] = append(w.logs[function].Drain(w), w.extra[function]...)
	}
	return all
}

// forget drops the output so far, which led to the situation and is not part of it.
func (w *world) forget() {
	w.Helper()
	w.printed()
}

// post sends a body to a function.
func (w *world) post(function http.Handler, header http.Header, body string) {
	w.Helper()
	w.request(http.MethodPost, function, header, strings.NewReader(body))
}

func (w *world) request(method string, function http.Handler, header http.Header, body io.Reader) {
	w.Helper()
	r := httptest.NewRequestWithContext(w.Context(), method, "/", body)
	r.Header = header
	function.ServeHTTP(httptest.NewRecorder(), r)
}

func (w *world) named(raw string) operation.Name {
	w.Helper()
	name, err := operation.ParseName(raw, "")
	if err != nil {
		w.Fatal(err)
	}
	return name
}

// registered registers an operation without the function.
func (w *world) registered(name operation.Name) operation.Name {
	w.Helper()
	if _, err := w.ledger.Operations.Register(w.Context(), ledger.Registration{Name: name}); err != nil {
		w.Fatal(err)
	}
	return name
}

// end ends an operation in the ledger without the functions.
func (w *world) end(name operation.Name, state operation.State) {
	w.Helper()
	w.endedAt(name, state, w.clock.Now())
}

// endedAt is end with a time of Gemini's.
func (w *world) endedAt(name operation.Name, state operation.State, at time.Time) {
	w.Helper()
	_, err := w.ledger.Operations.Ingest(w.Context(), operation.Event{
		Name: name, DeliveryID: "end-" + string(state), Source: operation.Webhook, State: state, UpdateTime: at,
	})
	if err != nil {
		w.Error(err)
	}
}

// storeDown makes the store refuse everything.
func (w *world) storeDown() {
	w.Helper()
	if err := w.store.Close(); err != nil {
		w.Fatal(err)
	}
}

// message returns the one message of an effect that was sent, and empties the queue.
func (w *world) message(effect string) ledger.Message {
	w.Helper()
	sent := w.outbox.Drain()
	i := slices.IndexFunc(sent, func(m ledger.Message) bool { return ledger.RuleOf(m.Effect) == effect })
	if i < 0 {
		w.Fatalf("no message about %s in %v", effect, sent)
	}
	return sent[i]
}
