package effects_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// program is set where the framework is linked: the deployed program, for a child process.
var program func()

func TestMain(m *testing.M) {
	if os.Getenv("OPLEDGER_TEST_CHILD") != "" {
		program()
	}
	harness.SpendMemory()
	goleak.VerifyTestMain(m)
}

const key operation.Key = "batches/a"

var errTarget = errors.New("the target is down")

// A world is the function over a real store with one operation whose effects are planned: one for
// each way to end.
type world struct {
	*testing.T
	store    *sqlite.Store
	function effects.Function
	log      *bytes.Buffer
	server   *httptest.Server

	mu  sync.Mutex
	ran []string
}

var names = []string{"finishes", "fails", "dies", "hangs", "stranger"}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, log: &bytes.Buffer{}}
	var err error
	if w.store, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), time.Now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.store.Close() })
	settings := ledger.DefaultSettings()
	for _, name := range names {
		settings.Rules = append(settings.Rules, ledger.Rule{Name: name, On: []operation.State{operation.Succeeded}})
	}
	l, err := ledger.New(w.store, settings, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plan(t, l)
	result := map[string]error{"finishes": nil, "fails": errTarget, "dies": effect.Permanent(errTarget), "hangs": nil}
	handlers := map[string]effect.Handler{}
	for name, err := range result {
		handlers[name] = effect.HandlerFunc(func(context.Context, effect.Task) ([]ledger.Write, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.ran = append(w.ran, name)
			return nil, err
		})
	}
	w.function = effects.New(effects.Options{Runner: effect.NewRunner(l, handlers), Now: time.Now,
		Log: logging.New(w.log, "")})
	w.server = httptest.NewServer(w.function)
	t.Cleanup(w.server.Close)
	if grant, err := l.Effects.Claim(t.Context(), key, "hangs"); err != nil || grant.Verdict != ledger.Claimed {
		t.Fatalf("%+v %v", grant, err)
	}
	return w
}

func plan(t testing.TB, l *ledger.Ledger) {
	t.Helper()
	name := operation.Name{Key: key, Resource: string(key)}
	if _, err := l.Operations.Register(t.Context(), ledger.Registration{Name: name}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Operations.Ingest(t.Context(), operation.Event{Name: name, DeliveryID: "m", Source: operation.Webhook,
		State: operation.Succeeded}); err != nil {
		t.Fatal(err)
	}
}

// message is the data of a Pub/Sub message.
func message(effect string) string {
	return fmt.Sprintf(`{"operation":"projects/p/locations/us/batches/a/","effect":%q,"attempt":1}`, effect)
}

// push is the whole body that Pub/Sub pushes.
func push(data string) string {
	return fmt.Sprintf(`{"message":{"attributes":{"k":"v"},"data":%q,"messageId":"7","message_id":"7",`+
		`"publishTime":"2026-01-22T12:00:00Z"},`+
		`"subscription":"projects/p/subscriptions/s","deliveryAttempt":3}`, base64.StdEncoding.EncodeToString([]byte(data)))
}

// binary are the headers of a CloudEvent in binary mode, whose data is the body.
func binary() http.Header {
	return http.Header{
		"Ce-Id": {"7"}, "Ce-Source": {"//pubsub.googleapis.com/projects/p/topics/t"}, "Ce-Specversion": {"1.0"},
		"Ce-Type": {effects.EventType}, "Content-Type": {"application/json"},
	}
}

// structured is a CloudEvent in structured mode, which is all body.
func structured(kind, data string) string {
	return fmt.Sprintf(`{"specversion":"1.0","id":"7","source":"//pubsub.googleapis.com/projects/p/topics/t",`+
		`"type":%q,"datacontenttype":"application/json","data":%s}`, kind, data)
}

var structuredHeader = http.Header{"Content-Type": {"application/cloudevents+json; charset=utf-8"}}

type reply struct {
	Status int
	Header http.Header
	Text   string
	Body   struct {
		Outcome, Reason string
		Attempt         int
		Error           struct {
			Code    int
			Message string
		}
	}
}

func (w *world) request(method string, header http.Header, body string) reply {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), method, w.server.URL, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	request.Header = header
	response, err := w.server.Client().Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	r := reply{Status: response.StatusCode, Header: response.Header, Text: string(text)}
	if err := json.Unmarshal(text, &r.Body); err != nil {
		w.Fatalf("the answer %q is not JSON", text)
	}
	return r
}

// forms are the three ways in which a message arrives.
var forms = map[string]func(data string) (http.Header, string){
	"plain push": func(data string) (http.Header, string) {
		return http.Header{"Content-Type": {"application/json"}}, push(data)
	},
	"push without a type": func(data string) (http.Header, string) { return nil, push(data) },
	"CloudEvent, binary":  func(data string) (http.Header, string) { return binary(), push(data) },
	"CloudEvent, structured": func(data string) (http.Header, string) {
		return structuredHeader, structured(effects.EventType, push(data))
	},
}

// malformed are messages that no redelivery makes readable, with a part of the answer.
var malformed = map[string]struct {
	header http.Header
	body   string
	says   string
}{
	"nothing":                {nil, "", "Pub/Sub"},
	"not JSON":               {nil, "operation=a", "Pub/Sub"},
	"no message":             {nil, "{}", `"message"`},
	"data is not base64":     {nil, `{"message":{"data":"%%%"}}`, "Pub/Sub"},
	"no data":                {nil, `{"message":{}}`, `{"operation"`},
	"data is not JSON":       {nil, push("hello"), `{"operation"`},
	"data is a list":         {nil, push("[]"), `{"operation"`},
	"no operation":           {nil, push(`{"effect":"finishes"}`), "operation"},
	"no effect":              {nil, push(`{"operation":"batches/a"}`), "effect"},
	"unwrapped":              {nil, message("finishes"), `"message"`},
	"CloudEvent, no message": {binary(), "{}", `"message"`},
	"CloudEvent, no data":    {binary(), "", "Pub/Sub"},
	"CloudEvent, structured": {structuredHeader, structured(effects.EventType, `{}`), `"message"`},
	"structured, not JSON":   {structuredHeader, "{", "CloudEvent"},
	"of another type": {structuredHeader, structured("google.cloud.storage.object.v1.finalized",
		push(message("finishes"))), effects.EventType},
	"a batch of CloudEvents": {http.Header{"Content-Type": {"application/cloudevents-batch+json"}}, "[]", "Pub/Sub"},
}
