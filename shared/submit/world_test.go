package submit_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genai"
	"google.golang.org/genai/interactions/models/interactions"
	"google.golang.org/genai/interactions/models/operations"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/shared/submit"
	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	harness.SpendMemory()
	goleak.VerifyTestMain(m)
}

const model = "gemini-3.5-flash"

// A world is a simulated Gemini, a ledger in a file whose clock the test sets, and a submitter with
// the real SDK.
type world struct {
	t         *testing.T
	sim       *geminisim.Sim
	url       string
	http      *http.Client
	ledger    *ledger.Ledger
	registrar *registrar
	submitter *submit.Submitter
	clock     *harness.Clock
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: harness.NewClock(time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC))}
	w.sim = geminisim.New(geminisim.Config{Seed: 1, Now: w.clock.Now})
	server := httptest.NewServer(w.sim.Handler())
	w.url, w.http = server.URL, &http.Client{Transport: &http.Transport{}}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), w.clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		w.http.CloseIdleConnections()
		w.sim.Close()
		server.Close()
	})
	if w.ledger, err = ledger.New(store, ledger.DefaultSettings(), ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	w.registrar = &registrar{Ledger: w.ledger}
	w.submitter = w.submitterAt(w.url)
	return w
}

// submitterAt returns a submitter for that address. Its client retries by default.
func (w *world) submitterAt(url string) *submit.Submitter {
	w.t.Helper()
	none := 0.0
	client, err := genai.NewClient(w.t.Context(), &genai.ClientConfig{
		APIKey: "key", Backend: genai.BackendGeminiAPI, HTTPClient: w.http,
		HTTPOptions: genai.HTTPOptions{
			BaseURL: url, RetryOptions: &genai.HTTPRetryOptions{InitialDelay: &none, Jitter: &none},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return submit.New(submit.Options{Intents: w.registrar, Operations: w.registrar, Gemini: client})
}

// pass makes a pass of reconciliation.
func (w *world) pass() {
	w.t.Helper()
	lists, err := lookup.NewClient(lookup.Options{APIKey: "key", BaseURL: w.url, HTTP: w.http})
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = reconcile.New(reconcile.Options{
		Ledger: w.ledger, Gemini: lists, Log: slog.New(slog.DiscardHandler),
	}).Pass(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
}

// A registrar is the ledger, with failures.
type registrar struct {
	*ledger.Ledger
	intend, intent, withdraw, register error
	// dies is the point at which the run is killed.
	dies string
}

// errKilled ends a run, wherever it is.
var errKilled = errors.New("killed")

func (r *registrar) at(point string) {
	if r.dies == point {
		panic(errKilled)
	}
}

func (r *registrar) Intend(ctx context.Context, i ledger.Intention) (ledger.Intent, error) {
	if r.intend != nil {
		return ledger.Intent{}, r.intend
	}
	r.at("before the intent")
	intent, err := r.Ledger.Intents.Intend(ctx, i)
	r.at("before the intent's answer")
	return intent, err
}

func (r *registrar) Read(ctx context.Context, id string) (ledger.Intent, error) {
	if r.intent != nil {
		return ledger.Intent{}, r.intent
	}
	return r.Ledger.Intents.Read(ctx, id)
}

func (r *registrar) Withdraw(ctx context.Context, id, attempt string) (bool, error) {
	if r.withdraw != nil {
		return false, r.withdraw
	}
	r.at("429, before the withdrawal")
	return r.Ledger.Intents.Withdraw(ctx, id, attempt)
}

func (r *registrar) Register(ctx context.Context, one ledger.Registration) (ledger.Registered, error) {
	if r.register != nil {
		return ledger.Registered{}, r.register
	}
	r.at("before the registration")
	registered, err := r.Ledger.Operations.Register(ctx, one)
	r.at("before the registration's answer")
	return registered, err
}

// A kind is one kind of operation.
type kind struct {
	name       string
	collection operation.Collection
	create     geminisim.Op
	submit     func(*world, operation.Submission) (submit.Submitted, error)
	truth      func(*geminisim.Sim) []geminisim.OperationInfo
}

var kinds = []kind{
	{
		"batch", operation.Batches, geminisim.OpCreate,
		func(w *world, job operation.Submission) (submit.Submitted, error) {
			return w.submitter.Batch(w.t.Context(), job, model, &genai.BatchJobSource{FileName: "files/input"},
				&genai.CreateBatchJobConfig{DisplayName: "nightly"})
		}, (*geminisim.Sim).Batches,
	}, {
		"video", operation.Operations, geminisim.OpVideoCreate,
		func(w *world, job operation.Submission) (submit.Submitted, error) {
			return w.submitter.Video(w.t.Context(), job, "veo-3.1", &genai.GenerateVideosSource{Prompt: "a cat"}, nil)
		}, (*geminisim.Sim).Videos,
	}, {
		"interaction", operation.Interactions, geminisim.OpInteractionCreate,
		func(w *world, job operation.Submission) (submit.Submitted, error) {
			return w.submitter.Interaction(w.t.Context(), job, question("why?"))
		}, (*geminisim.Sim).Interactions,
	},
}

func question(text string) operations.CreateInteractionRequestBody {
	input := interactions.NewInteractionsInput(text)
	return operations.NewCreateInteractionRequestBody(interactions.CreateModelInteraction{Model: model, Input: &input})
}

// eachKind runs a test for every kind of operation.
func eachKind(t *testing.T, test func(*testing.T, *world, kind)) {
	t.Helper()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t), k)
		})
	}
}

// wantRegistered wants exactly these operations in the ledger, newest first; those of one instant
// by their ids, backwards.
func (w *world) wantRegistered(names ...string) {
	w.t.Helper()
	page, err := w.ledger.Operations.List(w.t.Context(), ledger.Filter{Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	var got []string
	for _, r := range page.Items {
		if r.Registered {
			got = append(got, r.Name)
		}
	}
	if !slices.Equal(got, names) {
		w.t.Errorf("registered are %v, want %v", got, names)
	}
}

// wantIntent wants one intent that waits, or none.
func (w *world) wantIntent(id string) {
	w.t.Helper()
	page, err := w.ledger.Intents.Waiting(w.t.Context(), ledger.Cursor{}, 10)
	if err != nil {
		w.t.Fatal(err)
	}
	got := ""
	for _, one := range page.Items {
		if one.Intent.State == ledger.IntentOpen { // what was given up is only searched for
			got += one.Intent.CorrelationID
		}
	}
	if got != id {
		w.t.Errorf("the open intents are %q, want %q", got, id)
	}
}

// wantError wants an error that is all of these, and no other one of the package's.
func (w *world) wantError(err error, all ...error) {
	w.t.Helper()
	for _, is := range all {
		if !errors.Is(err, is) {
			w.t.Fatalf("%v, want %v", err, is)
		}
	}
	for _, other := range []error{submit.ErrInput, submit.ErrRefused, submit.ErrUncertain, submit.ErrUnanswered,
		submit.ErrUnregistered} {
		if !slices.Contains(all, other) && errors.Is(err, other) {
			w.t.Errorf("%v is %v, too", err, other)
		}
	}
}
