package webhook_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/functions/webhook"
	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/trust"
	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	if os.Getenv("FUNCTION_TARGET") != "" {
		os.Exit(m.Run()) // a deployed function, which keeps what it opens
	}
	harness.AtOnce(8) // they wait for deliveries that wait
	harness.SpendMemory()
	// Gates that read Secret Manager are made for a process's whole life.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("google.golang.org/grpc/internal/grpcsync.(*CallbackSerializer).run"))
}

// The secret of the documented test vector (32 bytes), and another.
const (
	secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	other  = "whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="
)

// A world is the function behind a real HTTP server, over a real store, with a clock that the test
// moves.
type world struct {
	*testing.T
	clock  *harness.Clock
	file   string
	store  *sqlite.Store
	ledger *ledger.Ledger
	outbox *harness.Outbox
	log    *harness.Log
	server *httptest.Server

	sim   *geminisim.Sim   // Gemini: signs tokens, publishes keys, answers look-ups
	api   *httptest.Server // in front of it
	asked atomic.Int64     // requests for operations that reached api
	held  sync.RWMutex     // while it is locked, those wait
}

type options struct {
	noSecret, noAudience bool
	confirm              trust.Policy // by default as the settings have it
	placed               geminisim.MetadataPlace
	gate                 func(*world) *trust.Gate // instead of one with the fixed secret
	noKey                int                      // how often there is no client for Gemini
	count                func(refused string)
}

func newWorld(t *testing.T, o options) *world {
	t.Helper()
	w := &world{
		T: t, clock: harness.NewClock(time.Date(2026, 1, 22, 12, 0, 0, 0, time.UTC)),
		file: filepath.Join(t.TempDir(), "ledger.db"), outbox: &harness.Outbox{}, log: &harness.Log{},
	}
	var err error
	if w.store, err = sqlite.Open(t.Context(), w.file, w.clock.Now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.store.Close() }) // some tests close it themselves
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{
		{Name: "publish", On: []operation.State{operation.Succeeded}},
		{Name: "alarm", On: []operation.State{operation.Failed}},
	}
	if w.ledger, err = ledger.New(w.store, settings, ledger.Options{Publisher: w.outbox}); err != nil {
		t.Fatal(err)
	}
	w.openGemini(o)
	if o.gate == nil {
		o.gate = func(*world) *trust.Gate { return w.fixedGate(o) }
	}
	client, err := lookup.NewClient(lookup.Options{APIKey: "key", BaseURL: w.api.URL, HTTP: w.api.Client(),
		Now: w.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	connect := func(context.Context) (*lookup.Client, error) {
		if o.noKey > 0 {
			o.noKey--
			return nil, errors.New("Secret Manager is away") //nolint:staticcheck // a name
		}
		return client, nil
	}
	w.server = httptest.NewServer(webhook.New(webhook.Options{
		Ledger: w.ledger, Gate: o.gate(w), Confirm: cmp.Or(o.confirm, trust.Dynamic), Now: w.clock.Now, Count: o.count,
		Log:       logging.New(w.log, "p"),
		Timeout:   time.Hour, // a busy machine must not end a delivery; that is TestHungStore's
		Confirmer: confirm.New(confirm.Options{Ledger: w.ledger, Gemini: connect, Now: w.clock.Now}),
	}))
	t.Cleanup(w.server.Close)
	return w
}

// fixedGate accepts the one secret, and tokens for the one audience.
func (w *world) fixedGate(o options) *trust.Gate {
	w.Helper()
	believed := trust.Options{Tolerance: 5 * time.Minute}
	var err error
	if !o.noSecret {
		if believed.Static, err = trust.FixedSecrets(secret); err != nil {
			w.Fatal(err)
		}
	}
	if !o.noAudience {
		believed.Dynamic, err = trust.NewTokens(trust.TokensOptions{
			Audiences: []string{audience}, KeysURL: w.api.URL + geminisim.JWKSPath, Transport: w.api.Client().Transport,
		})
		if err != nil {
			w.Fatal(err)
		}
	}
	gate, err := trust.New(believed)
	if err != nil {
		w.Fatal(err)
	}
	return gate
}

// logged returns the log lines since the last call.
func (w *world) logged() []map[string]any {
	w.Helper()
	return w.log.Drain(w)
}

// wantLog checks that the last call logged one line with these fields.
func (w *world) wantLog(fields map[string]any) {
	w.Helper()
	all := w.logged()
	if len(all) != 1 {
		w.Errorf("%d log lines, want 1: %v", len(all), all)
		return
	}
	for name, want := range fields {
		if all[0][name] != want {
			w.Errorf("log field %s is %v, want %v in %v", name, all[0][name], want, all[0])
		}
	}
}

func (w *world) register(raw string) {
	w.Helper()
	name, err := operation.ParseName(raw, "")
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.ledger.Operations.Register(w.Context(), ledger.Registration{Name: name}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) show(key operation.Key) ledger.Story {
	w.Helper()
	story, err := w.ledger.Operations.Show(w.Context(), key)
	if err != nil {
		w.Fatal(err)
	}
	return story
}

// stored returns every document of the store with its version, read by a connection of its own.
func (w *world) stored() map[string]string {
	w.Helper()
	db, err := sql.Open("sqlite", w.file)
	if err != nil {
		w.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(w.Context(),
		"SELECT path, version, body FROM documents UNION SELECT 'sequence', last, '' FROM sequence")
	if err != nil {
		w.Fatal(err)
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var path, body string
		var version int64
		if err := rows.Scan(&path, &version, &body); err != nil {
			w.Fatal(err)
		}
		all[path] = fmt.Sprintf("%d %s", version, body)
	}
	if err := rows.Err(); err != nil {
		w.Fatal(err)
	}
	return all
}
