package register_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	harness.SpendMemory()
	goleak.VerifyTestMain(m)
}

// A world is the function behind a real HTTP server, over a real store whose clock stands still at
// noon, until the test moves it.
type world struct {
	*testing.T
	clock  *harness.Clock
	store  *sqlite.Store
	ledger *ledger.Ledger
	outbox *harness.Outbox
	log    *bytes.Buffer // only to be read when no request is under way
	server *httptest.Server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, outbox: &harness.Outbox{}, log: &bytes.Buffer{}, clock: harness.NewClock(noon)}
	now := w.clock.Now
	var err error
	if w.store, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.store.Close() })
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{
		{Name: "publish", On: []operation.State{operation.Succeeded}},
		{Name: "special", On: []operation.State{operation.Succeeded}, JobKinds: []string{"special-*"}},
	}
	if w.ledger, err = ledger.New(w.store, settings, ledger.Options{Publisher: w.outbox}); err != nil {
		t.Fatal(err)
	}
	w.server = httptest.NewServer(register.New(register.Options{Ledger: w.ledger, Now: now, Log: logging.New(w.log, "p")}))
	t.Cleanup(w.server.Close)
	return w
}

type reply struct {
	Status int
	Header http.Header
	Record operation.Record
	Intent ledger.Intent
	Added  []string
	Kept   []string
	Next   struct {
		Verdict     ledger.IntentVerdict
		WaitUntil   time.Time
		WaitSeconds int
		Withdrawn   bool
	}
	Error struct {
		Code     int
		Message  string
		Problems []string
	}
}

func (w *world) request(method string, body io.Reader) reply {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), method, w.server.URL+"/register", body)
	if err != nil {
		w.Fatal(err)
	}
	response, err := w.server.Client().Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	r := reply{Status: response.StatusCode, Header: response.Header}
	into := any(&struct {
		*operation.Record
		Added, Kept *[]string
	}{&r.Record, &r.Added, &r.Kept})
	switch {
	case r.Status/100 != 2:
		into = &struct{ Error any }{&r.Error}
	case bytes.HasPrefix(text, []byte(`{"intent":`)):
		into = &struct {
			Intent *ledger.Intent
			Kept   *[]string
		}{&r.Intent, &r.Kept}
	}
	for _, into := range []any{into, &r.Next} {
		if err := json.Unmarshal(text, into); err != nil {
			w.Fatalf("the answer %s: %v", text, err)
		}
	}
	if r.Status/100 != 2 && r.Error.Code != r.Status {
		w.Errorf("%d says %s", r.Status, text)
	}
	return r
}

func (w *world) post(body string) reply {
	w.Helper()
	return w.request(http.MethodPost, strings.NewReader(body))
}
