package reconcile_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	reconcilefn "github.com/opledger/opledger/functions/reconcile"
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
	goleak.VerifyTestMain(m)
}

// overdueLedger returns a ledger with two operations that are stuck.
func overdueLedger(t *testing.T) (*sqlite.Store, *ledger.Ledger) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	l, err := ledger.New(store, ledger.DefaultSettings(), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{"batches/a", "batches/b"} {
		name, err := operation.ParseName(raw, "")
		if err != nil {
			t.Fatal(err)
		}
		submitted := time.Now().Add(-25 * time.Hour)
		if _, err := l.Operations.Register(t.Context(), ledger.Registration{Name: name, SubmittedAt: submitted}); err != nil {
			t.Fatal(err)
		}
	}
	return store, l
}

// call sends a request without a body and decodes the answer.
func call(t *testing.T, server *httptest.Server, method string) (int, http.Header, map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return response.StatusCode, response.Header, fields
}

// TestPass: Cloud Scheduler's call makes one pass. The answer and the log line have the same
// figures.
func TestPass(t *testing.T) {
	t.Parallel()
	store, l := overdueLedger(t)
	sim := geminisim.New(geminisim.Config{})
	defer sim.Close()
	sim.AnswerNext(geminisim.OpGet, "", geminisim.ErrorAnswer(503, "later")) // the other is not found
	api := httptest.NewServer(sim.Handler())
	defer api.Close()
	client, err := lookup.NewClient(lookup.Options{APIKey: "k", BaseURL: api.URL, HTTP: api.Client()})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	server := httptest.NewServer(reconcilefn.New(reconcilefn.Options{
		Reconciler: reconcile.New(reconcile.Options{Ledger: l, Gemini: client, Budget: time.Minute,
			Log: logging.New(&log, "p")}), Now: time.Now, Log: logging.New(&log, "p"),
	}))
	defer server.Close()
	for _, method := range []string{"GET", "PUT"} {
		if code, header, _ := call(t, server, method); code != http.StatusMethodNotAllowed || header.Get("Allow") != "POST" {
			t.Errorf("%s: %d %v", method, code, header)
		}
	}
	if sim.Stats().APIRequests != 0 {
		t.Error("a pass was made for what is not a POST")
	}
	want := map[string]any{
		"due": 2.0, "checked": 2.0, "settled": 0.0, "running": 0.0, "unknown": 1.0, "missing": 1.0, "stuck": 2.0,
		"effectsRequeued": 0.0, "errors": 0.0, "more": false, "effectsUncertain": 0.0, "oldestEffectSeconds": 0.0,
		"newer": 0.0,
	}
	code, _, got := call(t, server, http.MethodPost)
	want["oldestOperationSeconds"] = got["oldestOperationSeconds"] // the age is TestOldestOperation's
	if code != http.StatusOK || !maps.Equal(got, want) {
		t.Errorf("%d %v, want 200 %v", code, got, want)
	}
	lines := bytes.Split(bytes.TrimSpace(log.Bytes()), []byte("\n"))
	var line map[string]any
	if err := json.Unmarshal(lines[len(lines)-1], &line); err != nil {
		t.Fatal(err)
	}
	if line["event"] != "reconcile" || line["outcome"] != "pass" || line["duration_ms"] == nil {
		t.Errorf("logged %v", line)
	}
	for _, field := range slices.Sorted(maps.Keys(want)) {
		if line[field] != want[field] {
			t.Errorf("logged %s %v, want %v", field, line[field], want[field])
		}
	}

	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	log.Reset()
	code, header, got := call(t, server, http.MethodPost)
	if seconds, err := strconv.Atoi(header.Get("Retry-After")); code != http.StatusServiceUnavailable || err != nil ||
		seconds < 1 || got["error"] == nil {
		t.Errorf("nothing can be read: %d %v %v", code, header, got)
	}
	if !strings.Contains(log.String(), `"event":"reconcile","outcome":"error"`) ||
		!strings.Contains(log.String(), `"severity":"ERROR"`) {
		t.Errorf("logged %s", log.String())
	}
}

// TestQuiet: a process that makes passes all the time logs only those that did something.
func TestQuiet(t *testing.T) {
	t.Parallel()
	for _, quiet := range []bool{false, true} {
		_, l := overdueLedger(t)
		sim := geminisim.New(geminisim.Config{})
		defer sim.Close()
		api := httptest.NewServer(sim.Handler())
		defer api.Close()
		client, err := lookup.NewClient(lookup.Options{APIKey: "k", BaseURL: api.URL, HTTP: api.Client()})
		if err != nil {
			t.Fatal(err)
		}
		log := &harness.Log{}
		passes := func(l *ledger.Ledger) (lines int) {
			t.Helper()
			f := reconcilefn.New(reconcilefn.Options{
				Reconciler: reconcile.New(reconcile.Options{Ledger: l, Gemini: client, Budget: time.Minute,
					Log: slog.New(slog.DiscardHandler)}),
				Now: time.Now, Log: logging.New(log, "p"), Quiet: quiet,
			})
			if _, err := f.Pass(t.Context()); err != nil {
				t.Fatal(err)
			}
			return len(log.Drain(t))
		}
		if n := passes(l); n != 1 {
			t.Errorf("quiet %v: %d lines of a pass that did something", quiet, n)
		}
		store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		if l, err = ledger.New(store, ledger.DefaultSettings(), ledger.Options{}); err != nil {
			t.Fatal(err)
		}
		if n := passes(l); (n == 0) != quiet {
			t.Errorf("quiet %v: %d lines of a pass that did nothing", quiet, n)
		}
	}
}
