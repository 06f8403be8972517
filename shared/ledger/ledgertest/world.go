package ledgertest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// The effects that a world's rules plan.
const (
	publish = "publish" // when an operation succeeds
	alarm   = "alarm"   // when it fails or expires
)

// A world is one ledger test: a store with a clock that the test moves, settings, and everything
// that was published.
type world struct {
	*testing.T
	ctx      context.Context
	store    *Skewed // also checks every write
	settings ledger.Settings
	outbox   *outbox
	logged   *bytes.Buffer // through log, by all ledgers of this world
	log      *slog.Logger
	// jitter is the Jitter of every ledger of this world. Zero: no pause between tries.
	jitter func() float64
	name   operation.Name
	start  time.Time // the store's time when the world began, to the microsecond
}

func newWorld(t *testing.T, store ledger.Store) *world {
	w := &world{
		T: t, ctx: t.Context(), store: Skew(Check(t, store)), settings: ledger.DefaultSettings(), outbox: &outbox{},
		logged: &bytes.Buffer{},
		jitter: func() float64 { return 0 },
		name:   nameOf(t, "batches/abc-123"),
	}
	w.log = slog.New(slog.NewJSONHandler(w.logged, nil))
	w.settings.BatchStuckAfter = 0 // the suite is about batches and intents, and waits for one time
	w.settings.Rules = []ledger.Rule{
		{Name: publish, On: []operation.State{operation.Succeeded}},
		{Name: alarm, On: []operation.State{operation.Failed, operation.Expired}},
	}
	w.start = w.now()
	return w
}

func nameOf(t testing.TB, raw string) operation.Name {
	t.Helper()
	name, err := operation.ParseName(raw, "")
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// An outbox is a publisher that stores the messages.
type outbox struct {
	mu       sync.Mutex
	messages []ledger.Message
	err      error // return this instead
}

func (o *outbox) Publish(_ context.Context, m ledger.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	o.messages = append(o.messages, m)
	return nil
}

// sent returns what was published since the last call.
func (o *outbox) sent() []ledger.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	sent := o.messages
	o.messages = nil
	return sent
}

// ledger returns a ledger over the world's store: one process of several.
func (w *world) ledger() *ledger.Ledger { return w.over(w.store) }

// over returns a ledger over a store that is around the world's.
func (w *world) over(store ledger.Store) *ledger.Ledger {
	w.Helper()
	l, err := ledger.New(store, w.settings, ledger.Options{Publisher: w.outbox, Jitter: w.jitter, Log: w.log})
	if err != nil {
		w.Fatal(err)
	}
	return l
}

// now returns the store's time.
func (w *world) now() time.Time {
	w.Helper()
	now, err := w.store.Now(w.ctx)
	if err != nil {
		w.Fatalf("asking the store for its time: %v", err)
	}
	return now
}

// event returns a webhook's event about the world's operation; its server time is that of the
// world's start plus at.
func (w *world) event(delivery string, state operation.State, at time.Duration) operation.Event {
	return operation.Event{
		Name: w.name, DeliveryID: delivery, Source: operation.Webhook, Type: "batch.test",
		State: state, UpdateTime: w.start.Add(at),
	}
}

// lookup returns the event of a look-up.
func (w *world) lookup(state operation.State, at time.Duration) operation.Event {
	e := w.event(fmt.Sprintf("reconcile-%s-%d", state, at), state, at)
	e.Source, e.Type = operation.Reconcile, ""
	return e
}

func (w *world) registration() ledger.Registration {
	return ledger.Registration{Name: w.name, Submission: operation.Submission{JobKind: "test-job"}, SubmittedAt: w.start}
}

// register registers the world's operation.
func (w *world) register() ledger.Registered {
	w.Helper()
	registered, err := w.ledger().Operations.Register(w.ctx, w.registration())
	if err != nil {
		w.Fatalf("Register: %v", err)
	}
	return registered
}

// ingest ingests an event.
func (w *world) ingest(e operation.Event) ledger.Receipt {
	w.Helper()
	receipt, err := w.ledger().Operations.Ingest(w.ctx, e)
	if err != nil {
		w.Fatalf("Ingest %s %s: %v", e.DeliveryID, e.State, err)
	}
	return receipt
}

// succeed registers the world's operation and ingests its success, so that its effect "publish" can
// be claimed.
func (w *world) succeed() {
	w.Helper()
	w.register()
	if r := w.ingest(w.event("success", operation.Succeeded, time.Second)); r.Planned != 1 {
		w.Fatalf("the success planned %d effects: %+v", r.Planned, r)
	}
}

// claim claims an effect.
func (w *world) claim(effect string) ledger.Grant {
	w.Helper()
	grant, err := w.ledger().Effects.Claim(w.ctx, w.name.Key, effect)
	if err != nil {
		w.Fatalf("Claim %s: %v", effect, err)
	}
	return grant
}

// granted claims an effect, and fails the test where it is not granted.
func (w *world) granted(effect string) ledger.Lease {
	w.Helper()
	grant := w.claim(effect)
	if grant.Verdict != ledger.Claimed {
		w.Fatalf("Claim %s: %s, want %s", effect, grant.Verdict, ledger.Claimed)
	}
	return grant.Lease
}

// finish finishes a lease.
func (w *world) finish(lease ledger.Lease, extra ...ledger.Write) {
	w.Helper()
	if err := w.ledger().Effects.Finish(w.ctx, lease, extra...); err != nil {
		w.Fatalf("Finish: %v", err)
	}
}

// show returns the story of the world's operation.
func (w *world) show() ledger.Story {
	w.Helper()
	story, err := w.ledger().Operations.Show(w.ctx, w.name.Key)
	if err != nil {
		w.Fatalf("Show: %v", err)
	}
	return story
}

// record returns the record of the world's operation; the zero Record where there is none.
func (w *world) record() operation.Record {
	w.Helper()
	return read[operation.Record](w, ledger.OperationPath(w.name.Key))
}

// settledAfter returns how long after its submission the world's operation was settled, by its record.
func (w *world) settledAfter() time.Duration {
	w.Helper()
	rec := w.record()
	return rec.SettledAt.Sub(rec.Submitted())
}

// effect returns one effect of the world's operation; the zero Effect where there is none.
func (w *world) effect(name string) ledger.Effect {
	w.Helper()
	return read[ledger.Effect](w, ledger.EffectPath(w.name.Key, name))
}

func read[T any](w *world, path ledger.Path) T {
	w.Helper()
	var into T
	if err := w.document(path).Decode(&into); err != nil {
		w.Fatalf("reading %s: %v", path, err)
	}
	return into
}

func (w *world) document(path ledger.Path) ledger.Document {
	w.Helper()
	snapshot, err := w.store.Get(w.ctx, path)
	if err != nil {
		w.Fatalf("Get %s: %v", path, err)
	}
	return snapshot.Documents[0]
}

// delete deletes a document, as the store does when it has expired.
func (w *world) delete(path ledger.Path) {
	w.Helper()
	doc := w.document(path)
	if _, err := w.store.Commit(w.ctx, ledger.Write{Path: path, Token: doc.Token}); err != nil {
		w.Fatalf("deleting %s: %v", path, err)
	}
}
