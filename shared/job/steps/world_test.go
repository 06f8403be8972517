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

	"google.golang.org/grpc"

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
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/ledger/firestore"
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
	// patience is how long one answer of the emulator or of the simulator may take on a machine with much else to do.
	patience = 2 * time.Minute
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

	stored ledger.Store   // as the test sees it
	found  *lookup.Client // of the passes
	gemini string         // the address of sim

	mu      sync.Mutex
	effects map[operation.Key]int // how often the user's effect ran
	reports []effect.Report
	learned map[string]bool // batches whose end was reported
	lost    map[string]int  // messages whose process was killed, by the effect
}

// A setting is how a world differs from the usual one.
type setting struct {
	sim       geminisim.Config
	bucket    bool                            // job storage is a bucket
	held      bool                            // the test itself ends batches
	tokens    job.Quotas                      // that the ledger knows
	firestore bool                            // the ledger is in the emulator
	store     func(ledger.Store) ledger.Store // of all
	worker    func(ledger.Store) ledger.Store // of the workers alone; passes have their own
	killer    *killer                         // ends the workers, the passes and the operator's command
	storage   func(storage.Storage) storage.Storage
	transport func(http.RoundTripper) http.RoundTripper
	options   func(steps.Options) steps.Options
}

func newWorld(t testing.TB, s setting) *world {
	t.Helper()
	w := &world{
		TB: t, setting: s, clock: harness.NewClock(time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)), outbox: &harness.Outbox{},
		log: &harness.Log{}, effects: map[operation.Key]int{}, learned: map[string]bool{},
		lost: map[string]int{},
	}
	w.setting.sim.Now, w.setting.sim.CountKeys = w.clock.Now, true
	if s.sim.RunTime[1] == 0 {
		w.setting.sim.RunTime = [2]time.Duration{time.Millisecond, 2 * time.Millisecond}
	}
	w.sim = geminisim.New(w.setting.sim)
	t.Cleanup(w.sim.Close)
	w.stored = w.openStore()
	if s.store != nil {
		w.stored = s.store(w.stored)
	}
	w.ledger = w.over(w.stored, w.outbox)
	w.options = steps.Options{Storage: w.openStorage(), Now: w.clock.Now, Log: logging.New(w.log, "p")}
	w.openGemini()
	w.begin()
	if s.options != nil {
		w.options = s.options(w.options)
	}
	return w
}

// begin begins the processes, or their successors, which remember nothing.
func (w *world) begin() {
	w.Helper()
	if w.killer != nil {
		store, publisher := killedStore{w.stored, w.killer}, killedPublisher{w.outbox, w.killer}
		w.options.Ledger = w.over(store, publisher)
		w.passes = w.reconciler(w.over(store, publisher))
		return
	}
	store := w.stored
	if w.worker != nil {
		store = w.worker(store)
	}
	w.options.Ledger, w.passes = w.over(store, w.outbox), w.reconciler(w.ledger)
}

func (w *world) reconciler(l *ledger.Ledger) *reconcile.Reconciler {
	return reconcile.New(reconcile.Options{Ledger: l, Gemini: w.found, Log: logging.New(w.log, "p")})
}

func (w *world) openStore() ledger.Store {
	w.Helper()
	if w.firestore {
		return w.openFirestore()
	}
	store, err := sqlite.Open(w.Context(), filepath.Join(w.TempDir(), "ledger.db"), w.clock.Now)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = store.Close() }) // the test has ended
	return store
}

func (w *world) openFirestore() ledger.Store {
	w.Helper()
	options := dial.Options(harness.Firestore(w),
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn,
			invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
		) error {
			return invoke(patiently(ctx), method, req, reply, conn, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, of *grpc.StreamDesc, conn *grpc.ClientConn, method string,
			stream grpc.Streamer, opts ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			return stream(patiently(ctx), of, conn, method, opts...)
		}),
	)
	store, err := firestore.Open(w.Context(), harness.ProjectID(w), "", options...)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = store.Close() }) // the test has ended
	return clocked{store, w.clock}
}

// patiently returns the context of a request that ends with that of its caller, but not for its deadline: the store
// gives a request ten seconds, which the first ones of an emulator that has just started may exceed on a busy machine.
func patiently(ctx context.Context) context.Context {
	longer, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	context.AfterFunc(ctx, func() {
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			cancel()
		}
	})
	return longer
}

// A clocked store shows the time of the test's clock: that of the emulator cannot be moved.
type clocked struct {
	ledger.Store
	clock *harness.Clock
}

func (s clocked) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	snapshot, err := s.Store.Get(ctx, paths...)
	snapshot.ReadTime = s.clock.Now()
	return snapshot, err
}

func (w *world) over(store ledger.Store, publisher ledger.Publisher) *ledger.Ledger {
	w.Helper()
	settings := ledger.DefaultSettings()
	settings.ClaimTTL, settings.Interval, settings.MaxBatches = lease, interval, 80
	settings.EnqueuedTokens = w.tokens
	settings.Rules = []ledger.Rule{{
		Name: "publish", On: []operation.State{operation.Succeeded, operation.Failed, operation.Cancelled, operation.Expired},
	}}
	l, err := ledger.New(store, settings, ledger.Options{
		Publisher: publisher, Jitter: func() float64 { return 0 }, Log: logging.New(w.log, "p"),
	})
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
	if w.killer != nil {
		opened = killedStorage{opened, w.killer}
	}
	return opened
}

func (w *world) openGemini() {
	w.Helper()
	server := httptest.NewServer(w.sim.Handler())
	w.Cleanup(server.Close)
	w.gemini = server.URL
	with := func(transport http.RoundTripper) api.Options {
		return api.Options{APIKey: "key", BaseURL: server.URL, HTTP: &http.Client{Transport: transport}}
	}
	transport := server.Client().Transport
	if w.killer != nil {
		transport = killedTransport{transport, w.killer}
	}
	plain, ours := with(transport), with(transport)
	if w.transport != nil {
		ours = with(w.transport(transport))
	}
	var lookErr, batchErr, resultErr, cancelErr error
	w.found, lookErr = lookup.NewClient(plain)
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
