package webhook_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/functions/webhook"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/trust"
	"github.com/opledger/opledger/test/harness"
)

// A hung store does not answer until the caller's context ends.
type hung struct {
	ledger.Store
	get, commit bool
}

func (s *hung) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	if s.get {
		<-ctx.Done()
		return ledger.Snapshot{}, ctx.Err()
	}
	return s.Store.Get(ctx, paths...)
}

func (s *hung) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	if s.commit {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Store.Commit(ctx, writes...)
}

// over returns the function over a store, with the one secret.
func over(t *testing.T, store ledger.Store, o webhook.Options) http.Handler {
	t.Helper()
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: "publish", On: []operation.State{operation.Succeeded}}}
	var err error
	if o.Ledger, err = ledger.New(store, settings, ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	secrets, err := trust.FixedSecrets(secret)
	if err != nil {
		t.Fatal(err)
	}
	if o.Gate, err = trust.New(trust.Options{Tolerance: 5 * time.Minute, Static: secrets}); err != nil {
		t.Fatal(err)
	}
	o.Confirm, o.Now = trust.Dynamic, time.Now
	return webhook.New(o)
}

// sent delivers a body that is signed now.
func sent(ctx context.Context, function http.Handler, body string) *httptest.ResponseRecorder {
	return sentAs(ctx, function, "m1", body)
}

func sentAs(ctx context.Context, function http.Handler, id, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(body))
	r.Header = signed(secret, id, time.Now(), []byte(body))
	answer := httptest.NewRecorder()
	function.ServeHTTP(answer, r)
	return answer
}

// TestHungStore: a delivery is answered 503 within its time-out while the store hangs, and accepted
// when the store answers again [W3].
func TestHungStore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		timeout     time.Duration
		get, commit bool
		body        string
	}{
		"reading":           {10 * time.Second, true, false, event("batch.succeeded", "batches/a", t1)},
		"reading, for less": {3 * time.Second, true, false, event("batch.succeeded", "batches/a", t1)},
		"writing":           {10 * time.Second, false, true, event("batch.succeeded", "batches/a", t1)},
		"quarantine":        {10 * time.Second, false, true, "{"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "ledger.db")
			synctest.Test(t, func(t *testing.T) {
				documents, err := sqlite.Open(t.Context(), file, time.Now)
				if err != nil {
					t.Fatal(err)
				}
				defer documents.Close()
				store, log := &hung{Store: documents, get: c.get, commit: c.commit}, &harness.Log{}
				function := over(t, store, webhook.Options{Timeout: c.timeout, Log: logging.New(log, "")})
				began := time.Now()
				answer := sent(t.Context(), function, c.body)
				if took := time.Since(began); answer.Code != http.StatusServiceUnavailable ||
					answer.Header().Get("Retry-After") == "" || took != c.timeout {
					t.Errorf("%d %v after %s, want 503 after %s", answer.Code, answer.Header(), took, c.timeout)
				}
				lines := log.Drain(t)
				if len(lines) != 1 || lines[0]["event"] != "ingest" || lines[0]["outcome"] != "error" ||
					lines[0]["reason"] != "timeout" ||
					!strings.Contains(lines[0]["error"].(string), "OPLEDGER_WEBHOOK_TIMEOUT") {
					t.Errorf("logged %v", lines)
				}
				store.get, store.commit = false, false
				if answer := sent(t.Context(), function, c.body); answer.Code != http.StatusOK {
					t.Errorf("when the store answers again: %d %s", answer.Code, answer.Body)
				}
			})
		})
	}
}

// TestHungFirestore: the same holds for a Firestore that accepts connections and never answers
// [W3].
func TestHungFirestore(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // its backlog takes them
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	store, err := firestore.Open(t.Context(), "p", "", dial.Options(listener.Addr().String())...)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	function := over(t, store, webhook.Options{Timeout: 100 * time.Millisecond, Log: logging.New(&harness.Log{}, "")})
	answer := sent(t.Context(), function, event("batch.succeeded", "batches/a", t1))
	if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v, want 503", answer.Code, answer.Header())
	}
}

// TestGoneBeforeItsTurn: a large body whose sender has gone is answered 503 before it is decoded, so
// that Gemini delivers it again [W7].
func TestGoneBeforeItsTurn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	function := over(t, nil, webhook.Options{Timeout: time.Minute, Log: logging.New(&harness.Log{}, "")})
	if answer := sent(ctx, function, strings.Repeat(" ", 70<<10)); answer.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s, want 503", answer.Code, answer.Body)
	}
}
