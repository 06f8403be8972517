package steps_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/gemini/cancel"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/job/steps"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/shared/storage"
	"github.com/opledger/opledger/test/harness"
)

const (
	nightly  operation.Key = "jobs/nightly"
	interval               = 5 * time.Minute
	lease                  = 10 * time.Minute
)

// A world is the workers of jobs between a real ledger, a real job storage and a simulated Gemini, on one
// clock that the test moves. It can never be slow, and its processes share one clock.
type world struct {
	testing.TB
	setting
	clock   *harness.Clock
	outbox  *harness.Outbox
	log     *harness.Log
	sim     *geminisim.Sim
	ledger  *ledger.Ledger
	options steps.Options
	passes  *reconcile.Reconciler
	kept    storage.Storage // as the test sees it
	lines   []string        // of the input

	killer *killer // ends the workers; nil: none

	mu      sync.Mutex
	effects map[operation.Key]int // how often the user's effect ran
	reports []effect.Report
	learned map[string]bool // batches whose end was reported
}

// A setting is how a world differs from the usual one.
type setting struct {
	sim       geminisim.Config
	bucket    bool                            // job storage is a bucket
	held      bool                            // the test itself ends batches
	worker    func(ledger.Store) ledger.Store // of the workers alone; passes have their own
	storage   func(storage.Storage) storage.Storage
	transport func(http.RoundTripper) http.RoundTripper
	options   func(steps.Options) steps.Options
}

func newWorld(t testing.TB, s setting) *world {
	t.Helper()
	w := &world{
		TB: t, setting: s, clock: harness.NewClock(time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)), outbox: &harness.Outbox{},
		log: &harness.Log{}, effects: map[operation.Key]int{}, learned: map[string]bool{},
	}
	w.setting.sim.Now, w.setting.sim.CountKeys = w.clock.Now, true
	if s.sim.RunTime[1] == 0 {
		w.setting.sim.RunTime = [2]time.Duration{time.Millisecond, 2 * time.Millisecond}
	}
	w.sim = geminisim.New(w.setting.sim)
	t.Cleanup(w.sim.Close)
	store := w.openStore()
	w.ledger = w.over(store)
	if s.worker != nil {
		store = s.worker(store)
	}
	w.options = steps.Options{
		Ledger: w.over(store), Storage: w.openStorage(), Now: w.clock.Now, Log: logging.New(w.log, "p"),
	}
	w.openGemini()
	if s.options != nil {
		w.options = s.options(w.options)
	}
	return w
}

func (w *world) openStore() ledger.Store {
	w.Helper()
	store, err := sqlite.Open(w.Context(), filepath.Join(w.TempDir(), "ledger.db"), w.clock.Now)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = store.Close() }) // the test has ended
	return store
}

func (w *world) over(store ledger.Store) *ledger.Ledger {
	w.Helper()
	settings := ledger.DefaultSettings()
	settings.ClaimTTL, settings.Interval, settings.MaxBatches = lease, interval, 80
	settings.Rules = []ledger.Rule{{
		Name: "publish", On: []operation.State{operation.Succeeded, operation.Failed, operation.Cancelled, operation.Expired},
	}}
	l, err := ledger.New(store, settings, ledger.Options{Publisher: w.outbox, Jitter: func() float64 { return 0 }})
	if err != nil {
		w.Fatal(err)
	}
	return l
}

func (w *world) openStorage() storage.Storage {
	w.Helper()
	location, emulator := filepath.Join(w.TempDir(), "jobs"), ""
	if w.bucket {
		sim := storagesim.Start(storagesim.Config{Buckets: []string{"jobs"}})
		w.Cleanup(sim.Close)
		location, emulator = "gs://jobs/ours", sim.Addr()
	}
	opened, err := storage.Open(location, emulator)
	if err != nil {
		w.Fatal(err)
	}
	w.kept = opened
	if w.storage != nil {
		opened = w.storage(opened)
	}
	return opened
}

func (w *world) openGemini() {
	w.Helper()
	server := httptest.NewServer(w.sim.Handler())
	w.Cleanup(server.Close)
	with := func(transport http.RoundTripper) api.Options {
		return api.Options{APIKey: "key", BaseURL: server.URL, HTTP: &http.Client{Transport: transport}}
	}
	plain, ours := with(server.Client().Transport), with(server.Client().Transport)
	if w.transport != nil {
		ours = with(w.transport(server.Client().Transport))
	}
	found, lookErr := lookup.NewClient(plain)
	w.passes = reconcile.New(reconcile.Options{Ledger: w.ledger, Gemini: found, Log: logging.New(w.log, "p")})
	var batchErr, resultErr, cancelErr error
	w.options.Batches, batchErr = batches.NewClient(ours)
	w.options.Results, resultErr = results.New(ours)
	w.options.Canceller, cancelErr = cancel.NewClient(ours)
	if err := errors.Join(lookErr, batchErr, resultErr, cancelErr); err != nil {
		w.Fatal(err)
	}
}

// requests returns so many lines of an input, with the keys k0000, k0001 …
func requests(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = requestOf(fmt.Sprintf("k%04d", i))
	}
	return lines
}

func requestOf(key string) string {
	return fmt.Sprintf(`{"key":%q,"request":{"contents":[{"parts":[{"text":"About %s"}]}]}}`, key, key)
}

// submit submits a job of these lines, with a batch for each hundred.
func (w *world) submit(lines []string, options job.Options) {
	w.Helper()
	w.lines = lines
	w.put(strings.Join(lines, "\n")+"\n", int64(len(lines)), options)
}

// put submits a job with an input of any text.
func (w *world) put(input string, requests int64, options job.Options) {
	w.Helper()
	sum := sha256.Sum256([]byte(input))
	in := job.Input{SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(input)), Requests: requests}
	object := files.Input(nightly, in.SHA256)
	if _, err := w.kept.Create(w.Context(), object, strings.NewReader(input)); err != nil {
		w.Fatal(err)
	}
	w.accept(in, options)
}

func (w *world) accept(in job.Input, options job.Options) {
	w.Helper()
	options.Model = "gemini-3.5-flash"
	if options.MaxRequestsPerBatch == 0 {
		options.MaxRequestsPerBatch = 100
	}
	_, err := files.Accept(w.Context(), w.ledger, w.kept, ledger.JobRequest{Key: nightly, Options: options, Input: in})
	if err != nil {
		w.Fatal(err)
	}
}

// run handles one message, as one process of several does.
func (w *world) run(ctx context.Context, o steps.Options, m ledger.Message) (effect.Report, error) {
	handlers := steps.Handlers(o)
	handlers["publish"] = effect.HandlerFunc(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.effects[task.Operation]++
		return nil, nil
	})
	report, err := effect.NewRunner(o.Ledger, handlers).Run(ctx, m)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reports = append(w.reports, report)
	return report, err
}

// drain runs what is published, until nothing is.
func (w *world) drain() {
	w.Helper()
	for messages := w.outbox.Drain(); len(messages) > 0; messages = w.outbox.Drain() {
		for _, m := range messages {
			ctx := w.Context()
			if w.killer != nil {
				ctx = w.killer.begin(ctx)
			}
			report, err := w.run(ctx, w.options, m)
			if w.killer != nil && w.killer.alive() != nil {
				w.clock.Advance(lease)
				break // what else it had received is lost with it
			}
			if err != nil || report.FollowErr != nil {
				w.Fatalf("%s of %s: %v, %v", m.Effect, m.Operation, err, report.FollowErr)
			}
		}
	}
}

// learn reports the batches that have ended since the last call, as deliveries do.
func (w *world) learn() (any bool) {
	w.Helper()
	if !w.held {
		ctx, cancel := context.WithTimeout(w.Context(), 10*time.Second)
		defer cancel()
		if err := w.sim.WaitFor(ctx, func(s geminisim.Stats) bool { return s.Settled == s.Created }); err != nil {
			w.Fatal(err)
		}
	}
	for _, b := range w.sim.Batches() {
		if b.EndTime.IsZero() || w.learned[b.Name] {
			continue
		}
		_, receipt, err := w.passes.One(w.Context(), operation.Key(b.Name))
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			w.Fatal(err)
		}
		if receipt.Settled {
			w.learned[b.Name], any = true, true
		}
	}
	return any
}

// later lets time pass, and makes a pass.
func (w *world) later(d time.Duration) {
	w.Helper()
	w.clock.Advance(d)
	if _, err := w.passes.Pass(w.Context()); err != nil {
		w.Fatal(err)
	}
	w.drain()
}

// settle lets everything happen until the job has ended and nothing is left to do.
func (w *world) settle() operation.Record {
	w.Helper()
	for range 500 {
		w.drain()
		if rec := w.record(nightly); rec.Settled() && rec.Effects["publish"] == operation.EffectDone {
			return rec
		}
		if !w.learn() {
			w.later(interval)
		}
	}
	w.Fatalf("the job has not ended: %+v", w.job())
	panic("unreachable")
}
