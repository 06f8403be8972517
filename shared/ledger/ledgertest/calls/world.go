package calls

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
)

// The effects of a world's rules.
const (
	publish = "publish" // when an operation succeeds
	alarm   = "alarm"   // when it fails
	page    = "page"    // for every alert
)

// A World is what one call is made on: a ledger over a store, and what is arranged for the call.
type World struct {
	testing.TB
	// Ctx is the call's. The world is arranged under that of the test.
	Ctx    context.Context //nolint:containedctx // a row of the table has one argument
	Store  *ledgertest.Skewed
	Ledger *ledger.Ledger
	// Start is the time of this process when the world began.
	Start time.Time
	// Lease is of the effect that a worker has claimed, if one has.
	Lease ledger.Lease

	outbox    outbox
	operation ledger.DueOperation
	effect    ledger.DueEffect
	waiting   ledger.DueIntent
	job       ledger.StoredJob
	part      ledger.StoredPart
	lookups   *ledger.Lookups
}

// New returns a world over a store, whose writes are checked.
func New(t testing.TB, store ledger.Store) *World {
	t.Helper()
	w := &World{
		TB: t, Ctx: t.Context(), Store: ledgertest.Skew(ledgertest.Check(t, store)), Start: operation.Instant(time.Now()),
	}
	settings := ledger.DefaultSettings()
	settings.MaxAttempts, settings.RetryFor = 2, 0
	settings.Rules = []ledger.Rule{
		{Name: publish, On: []operation.State{operation.Succeeded}},
		{Name: alarm, On: []operation.State{operation.Failed}},
		{Name: page, Alerts: ledger.Alerts()},
	}
	w.open(settings)
	return w
}

func (w *World) open(settings ledger.Settings) {
	l, err := ledger.New(w.Store, settings, ledger.Options{Publisher: &w.outbox, Jitter: func() float64 { return 0 }})
	w.must(err)
	w.Ledger = l
}

// An outbox drops what is published, or fails.
type outbox struct {
	mu  sync.Mutex
	err error
}

func (o *outbox) Publish(context.Context, ledger.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

func (o *outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = err
}

func (w *World) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// got returns a value without its error, which fails the test.
func got[T any](w *World) func(T, error) T {
	return func(value T, err error) T {
		w.Helper()
		w.must(err)
		return value
	}
}

// nameOf is the name of one of a world's operations.
func nameOf(i int) operation.Name {
	resource := fmt.Sprintf("batches/%d", i)
	return operation.Name{Key: operation.Key(resource), Resource: resource}
}

// key is the operation that most calls are about.
var key = nameOf(1).Key

func (w *World) registration() ledger.Registration {
	return ledger.Registration{
		Name: nameOf(1), Submission: operation.Submission{JobKind: "kind", CorrelationID: "c-1"}, SubmittedAt: w.Start,
	}
}

func (w *World) event(delivery string, state operation.State) operation.Event {
	return operation.Event{
		Name: nameOf(1), DeliveryID: delivery, Source: operation.Webhook, Type: "batch.succeeded", State: state,
		UpdateTime: w.Start.Add(time.Second), Result: operation.Result{OutputFile: "files/out"},
	}
}

func (w *World) register() {
	got[ledger.Registered](w)(w.Ledger.Operations.Register(w.Ctx, w.registration()))
}

// registerEarly registers an operation that is not due before a lease is over.
func (w *World) registerEarly() {
	settings := w.Ledger.Settings()
	settings.Grace = 10 * settings.ClaimTTL
	w.open(settings)
	w.register()
}

func (w *World) succeed() {
	w.register()
	got[ledger.Receipt](w)(w.Ledger.Operations.Ingest(w.Ctx, w.event("success", operation.Succeeded)))
}

func (w *World) claim() {
	w.succeed()
	w.claimAgain()
}

func (w *World) claimAgain() {
	w.Helper()
	grant := got[ledger.Grant](w)(w.Ledger.Effects.Claim(w.Ctx, key, publish))
	if w.Lease = grant.Lease; grant.Verdict != ledger.Claimed {
		w.Fatalf("the claim is %s", grant.Verdict)
	}
}

func (w *World) die() {
	w.claim()
	w.must(w.Ledger.Effects.MarkDead(w.Ctx, w.Lease, errBroken))
}

// expire deletes a document, as the store does when it has expired.
func (w *World) expire(path ledger.Path) {
	w.Helper()
	found := got[ledger.Snapshot](w)(w.Store.Get(w.Ctx, path)).Documents[0]
	got[[]ledger.Token](w)(w.Store.Commit(w.Ctx, ledger.Write{Path: path, Token: found.Token}))
}

// pass begins a pass after d, and finds the operation that is due.
func (w *World) pass(d time.Duration) {
	w.Helper()
	w.Store.Advance(d)
	w.lookups = got[*ledger.Lookups](w)(w.Ledger.Passes.Begin(w.Ctx, time.Minute))
	due := got[ledger.Page[ledger.DueOperation]](w)
	found := due(w.Ledger.Operations.Due(w.Ctx, w.lookups.Start(), ledger.Cursor{}, 10))
	if len(found.Items) > 0 {
		w.operation = found.Items[0]
	}
}
