package examples

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/test/harness"
)

// A killing is Register and a simulated Gemini whose time the test moves, and a door in front of each
// at which the submitter is killed.
type killing struct {
	t        *testing.T
	clock    *harness.Clock
	ledger   *ledger.Ledger
	sim      *geminisim.Sim
	register *httptest.Server
	gemini   *httptest.Server

	mu sync.Mutex
	// point is where the submitter is killed: a request, and whether it is carried out before.
	point string
	kill  context.CancelFunc
}

func newKilling(t *testing.T) *killing {
	t.Helper()
	k := &killing{t: t, clock: harness.NewClock(time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC))}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), k.clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	if k.ledger, err = ledger.New(store, ledger.DefaultSettings(), ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	k.sim = geminisim.New(geminisim.Config{Seed: 1, Now: k.clock.Now})
	k.register = httptest.NewServer(k.door(register.New(register.Options{
		Ledger: k.ledger, Now: k.clock.Now, Log: slog.New(slog.DiscardHandler),
	})))
	k.gemini = httptest.NewServer(k.door(k.sim.Handler()))
	t.Cleanup(func() {
		k.register.Close()
		k.gemini.Close()
		k.sim.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

// door passes requests on, and kills the submitter at its point.
func (k *killing) door(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		what := "registration"
		switch {
		case strings.Contains(string(body), `"withdraw"`):
			what = "withdrawal"
		case strings.Contains(string(body), `"intent"`):
			what = "intent"
		case strings.Contains(r.URL.Path, "batchGenerateContent"):
			what = "creation"
		case r.Method == http.MethodGet:
			what = "reading"
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		k.mu.Lock()
		point, kill := k.point, k.kill
		k.mu.Unlock()
		switch refused := strings.HasPrefix(point, "429, "); point {
		case "before the " + what:
			kill()
			panic(http.ErrAbortHandler)
		case "before the answer to the " + what:
			next.ServeHTTP(httptest.NewRecorder(), r)
			kill()
			panic(http.ErrAbortHandler)
		default:
			if what == "withdrawal" && refused {
				kill()
				panic(http.ErrAbortHandler)
			}
			status := map[string]int{"429": 429, "429, killed after it": 429, "400": 400, "503": 503}[point]
			if what == "creation" && status != 0 {
				http.Error(w, `{"error":{"message":"the door says so"}}`, status)
				return
			}
			next.ServeHTTP(w, r)
		}
	})
}

// submits runs the submitter, and reports whether it was done.
func (k *killing) submits(point, dir string, command []string) (string, bool) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), patience)
	defer cancel()
	k.mu.Lock()
	k.point, k.kill = point, cancel
	k.mu.Unlock()
	env := environ([]string{
		"OPLEDGER_URL=" + k.register.URL, "GOOGLE_GEMINI_BASE_URL=" + k.gemini.URL, "GEMINI_API_KEY=key",
	})
	if socket, forks := strings.CutPrefix(command[0], forked); forks {
		out, code, err := fork(ctx, socket, asked{dir, env, command[1:]})
		return out, err == nil && code == 0
	}
	p := exec.CommandContext(ctx, command[0], command[1:]...)
	p.Dir, p.Env, p.WaitDelay = dir, env, time.Second
	out, err := p.CombinedOutput()
	return string(out), err == nil
}

// pass moves the time by five minutes, and makes a pass.
func (k *killing) pass() {
	k.t.Helper()
	k.clock.Advance(5 * time.Minute)
	lists, err := lookup.NewClient(lookup.Options{APIKey: "key", BaseURL: k.gemini.URL})
	if err != nil {
		k.t.Fatal(err)
	}
	_, err = reconcile.New(reconcile.Options{
		Ledger: k.ledger, Gemini: lists, Log: slog.New(slog.DiscardHandler),
	}).Pass(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
}

// points are where a submitter is killed, and what Gemini answers.
var points = []string{
	"before the intent", "before the answer to the intent", "before the creation",
	"before the answer to the creation", "before the registration", "before the answer to the registration",
	"503", "429", "400", "429, killed after it",
}

// getsThrough: wherever a submitter is killed, and whatever Gemini answered, starting it again ends with
// one registered batch, without an operator [G6].
func getsThrough(t *testing.T, points []string, dir string, command ...string) {
	t.Helper()
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			k := newKilling(t)
			if out, ok := k.submits(point, dir, command); ok {
				t.Fatalf("it was not killed, and said %s", out)
			}
			var out string
			for done := false; !done; k.pass() {
				if out, done = k.submits("", dir, command); k.clock.Now().Hour() > 2 {
					t.Fatalf("an hour later it still says %s", out)
				}
			}
			batches := k.sim.Batches()
			if len(batches) != 1 {
				t.Fatalf("Gemini has %+v; the last run said %s", batches, out)
			}
			if rec, err := k.ledger.Operations.Read(t.Context(),
				operation.Key(batches[0].Name)); err != nil || !rec.Registered ||
				rec.CorrelationID != "night-1" {
				t.Errorf("%+v, %v", rec, err)
			}
		})
	}
}

const submitInPython = `
import os
from gemini_stdlib import CREATE
from opledger import Opledger
Opledger(os.environ["OPLEDGER_URL"]).submit_once(
    "night-1", lambda mark: CREATE["batch"]("files/reviews", mark), collection="batches", patience=0)`

const submitInAsyncio = `
import asyncio, os
from gemini_stdlib import CREATE
from opledger import AsyncOpledger
asyncio.run(AsyncOpledger(os.environ["OPLEDGER_URL"]).submit_once(
    "night-1", lambda mark: CREATE["batch"]("files/reviews", mark), collection="batches", patience=0))`

// TestPythonKilled: both clients in Python. They share all but how a request is sent and the creation is called, so the
// one that awaits is killed once in each, and once while it withdraws.
func TestPythonKilled(t *testing.T) {
	t.Parallel()
	python := forking(t, python(t), imported...)
	getsThrough(t, points, pythonDir, python, "-c", submitInPython)
	getsThrough(t, []string{"before the answer to the creation", "before the registration", "429, killed after it"},
		pythonDir, python, "-c", submitInAsyncio)
}

// TestShellKilled: the submitter with curl.
func TestShellKilled(t *testing.T) {
	t.Parallel()
	shell := harness.Program(t, "sh", "the example with curl is not run")
	harness.Program(t, "curl", "the example with curl is not run")
	getsThrough(t, points, root+"/scripts/examples/shell", shell, "submit.sh", "batch", "files/reviews", "night-1")
}

const submitInTypeScript = `
import { batch } from "./dist/gemini.js";
import { Opledger } from "opledger";
const job = { collection: "batches", patienceMs: 0 };
await new Opledger(process.env.OPLEDGER_URL).submitOnce("night-1", (mark) => batch("files/reviews", mark), job);`
