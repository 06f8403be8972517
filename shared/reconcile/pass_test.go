package reconcile_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestPages: a pass sees everything that is due, however many pages it takes.
func TestPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := w.many(201)
	w.clock.Advance(grace)
	w.pass(reconcile.Summary{Due: 201, Checked: 201, Running: 201})
	for _, name := range names {
		if n := w.lookups()[string(name.Key)]; n != 1 {
			t.Errorf("%s was looked up %d times", name.Key, n)
		}
	}
}

// TestPoisoned: a record that cannot be read is counted, stays due, and keeps nobody else from being looked up, wherever in
// the order it stands [R6].
func TestPoisoned(t *testing.T) {
	t.Parallel()
	for form, body := range map[string]string{"unreadable": unreadable, "unparsable": unparsable} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			names := w.many(105)
			poisoned := []int{0, 1, 50, 98, 104}
			for _, i := range poisoned {
				w.poison(ledger.OperationPath(names[i].Key), body)
			}
			w.clock.Advance(grace)
			healthy := len(names) - len(poisoned)
			w.pass(reconcile.Summary{Due: healthy, Checked: healthy, Running: healthy, Errors: len(poisoned)})
			w.pass(reconcile.Summary{Errors: len(poisoned)})
		})
	}
}

// TestPoisonedPage: nor does it where the whole first page is like that, and the last of it (where the next begins).
func TestPoisonedPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := w.many(103)
	for _, name := range names[:100] {
		w.poison(ledger.OperationPath(name.Key), unreadable)
	}
	w.clock.Advance(grace)
	w.pass(reconcile.Summary{Due: 3, Checked: 3, Running: 3, Errors: 100})
}

// TestPoisonedEnd: nor where the page ends in records of which not even the time can be read; none is read twice.
func TestPoisonedEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := w.many(103)
	for _, name := range names[97:100] {
		w.poison(ledger.OperationPath(name.Key), unparsable)
	}
	w.clock.Advance(grace)
	w.pass(reconcile.Summary{Due: 100, Checked: 100, Running: 100, Errors: 3})
}

// TestForeign: what another program keeps in the same database, and what looks as if it were due, is counted and left alone: it
// is not looked up, not given up, not handed to a worker, and does not expire [R6, L3].
func TestForeign(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.register("a", geminisim.StateRunning)
	past := w.clock.Now().Add(-24 * time.Hour)
	foreign := map[ledger.Path]any{
		"apps/x/operations/y": operation.Record{
			Version: 1, Key: "batches/theirs", Name: "batches/theirs", State: operation.Pending, Registered: true,
			CreatedAt: past, SubmittedAt: past, DueAt: past,
		},
		"apps/x/operations/y/effects/publish": ledger.Effect{
			Version: 1, Operation: "batches/theirs", Name: "publish", State: ledger.EffectPending, CreatedAt: past, DueAt: past,
		},
		"apps/x/intents/z": ledger.Intent{Version: 1, CorrelationID: "theirs", State: ledger.IntentOpen, CreatedAt: past, DueAt: past},
	}
	before := map[ledger.Path]ledger.Token{}
	for path, data := range foreign {
		if err := w.store.Commit(t.Context(), ledger.Write{Path: path, Data: data}); err != nil {
			t.Fatal(err)
		}
		before[path] = w.document(path).Token
	}
	w.clock.Advance(grace)
	for range 2 {
		w.pass(reconcile.Summary{Due: 1, Checked: 1, Running: 1, Errors: len(foreign)})
		w.clock.Advance(interval)
	}
	for path, token := range before {
		if now := w.document(path).Token; now != token {
			t.Errorf("%s was written", path)
		}
	}
	if lists := w.sim.Stats().BatchLists; lists != 0 {
		t.Errorf("Gemini's list was asked for %d times, for an intent that is not the ledger's", lists)
	}
	if n := w.lookups()["batches/theirs"]; n != 0 || w.lookups()[string(name.Key)] != 2 {
		t.Errorf("look-ups: %v", w.lookups())
	}
	if sent := w.outbox.Take(); len(sent) != 0 {
		t.Errorf("published %v", sent)
	}
}

func (w *world) document(path ledger.Path) ledger.Document {
	w.Helper()
	snapshot, err := w.store.Get(w.Context(), path)
	if err != nil {
		w.Fatal(err)
	}
	return snapshot.Documents[0]
}

// TestPoisonedEffect: the same for the sweep, and operations are looked up all the same.
func TestPoisonedEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := w.many(3)
	w.outbox.Fail(errors.New("the queue is down"))
	for _, name := range names[:2] {
		w.deliver(name, "m-"+name.Key.ID(), operation.Succeeded)
	}
	w.outbox.Fail(nil)
	w.poison(ledger.EffectPath(names[0].Key, "publish"), unreadable)
	w.clock.Advance(grace)
	w.pass(reconcile.Summary{EffectsRequeued: 1, Errors: 1, Due: 1, Checked: 1, Running: 1})
	if sent := w.outbox.Take(); len(sent) != 1 || sent[0].Operation != names[1].Key {
		t.Errorf("published %v", sent)
	}
}

// TestSweep: effects that nobody works on are handed over again, once per interval and not in every pass [R5], whatever
// state their operation is in.
func TestSweep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := w.register("a", geminisim.StateRunning)
	w.outbox.Fail(errors.New("the queue is down"))
	w.deliver(name, "m1", operation.Succeeded)
	w.pass(reconcile.Summary{Errors: 1}) // not published: it is due in the next pass, however soon
	w.outbox.Fail(nil)
	w.pass(reconcile.Summary{EffectsRequeued: 1})
	w.pass(reconcile.Summary{})
	w.outbox.Take() // lost
	w.clock.Advance(interval)
	w.pass(reconcile.Summary{EffectsRequeued: 1})
	w.pass(reconcile.Summary{})
	if sent := w.outbox.Take(); len(sent) != 1 || sent[0] != (ledger.Message{Operation: name.Key, Effect: "publish", Attempt: 1}) {
		t.Errorf("published %v", sent)
	}
	grant, err := w.ledger.Claim(t.Context(), name.Key, "publish")
	if err != nil || grant.Verdict != ledger.Claimed {
		t.Fatalf("%+v %v", grant, err)
	}
	w.clock.Advance(interval) // somebody is at it
	w.pass(reconcile.Summary{})
	w.clock.Advance(interval) // and has died
	w.pass(reconcile.Summary{EffectsRequeued: 1, EffectsUncertain: 1})
	if sent := w.outbox.Take(); len(sent) != 1 || sent[0].Attempt != 2 {
		t.Errorf("published %v", sent)
	}
	if grant, err = w.ledger.Claim(t.Context(), name.Key, "publish"); err != nil || !grant.Lease.Seized {
		t.Fatalf("%+v %v", grant, err)
	}
	if err := w.ledger.Finish(t.Context(), grant.Lease); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(24 * time.Hour)
	w.pass(reconcile.Summary{})
}

// hang makes Gemini answer nothing; when n look-ups hang, then is called.
func (w *world) hang(n int32, then func()) {
	var hanging atomic.Int32
	w.inFront(func(_ http.ResponseWriter, r *http.Request) bool {
		if hanging.Add(1) == n {
			then()
		}
		<-r.Context().Done()
		return true
	})
}

// TestGeminiHangs: effects are handed over before Gemini is asked, so they are even when it never answers; and what was not
// heard when the pass is cut off is asked again an interval later [R6].
func TestGeminiHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := w.many(20)
	w.outbox.Fail(errors.New("the queue is down"))
	w.deliver(names[0], "m1", operation.Succeeded)
	w.outbox.Fail(nil)
	w.clock.Advance(grace)
	const atOnce = 8
	ctx, cancel := context.WithCancel(t.Context())
	var swept []ledger.Message
	w.hang(atOnce, func() {
		swept = w.outbox.Take()
		cancel()
	})
	got, err := w.reconciler(w.ledger).Pass(ctx)
	if want := (reconcile.Summary{EffectsRequeued: 1, Due: atOnce, Checked: atOnce, Unknown: atOnce, More: true}); err != nil || apartFromAge(got) != want {
		t.Errorf("%+v %v, want %+v", got, err, want)
	}
	if len(swept) != 1 {
		t.Errorf("the sweep waited for Gemini: %v", swept)
	}
	w.inFront(nil)
	rest := 19 - atOnce // nobody has taken them: they are still due
	w.pass(reconcile.Summary{Due: rest, Checked: rest, Running: rest})
	w.clock.Advance(interval)
	w.pass(reconcile.Summary{Due: 19, Checked: 19, Running: 19, EffectsRequeued: 1})
}

// TestCutOffAtTheEnd: a pass that is cut off while the last answers are outstanding says that there is more to do.
func TestCutOffAtTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.many(2)
	w.clock.Advance(grace)
	ctx, cancel := context.WithCancel(t.Context())
	w.hang(2, cancel)
	got, err := w.reconciler(w.ledger).Pass(ctx)
	if want := (reconcile.Summary{Due: 2, Checked: 2, Unknown: 2, More: true}); err != nil || got != want {
		t.Errorf("%+v %v, want %+v", got, err, want)
	}
}

// TestBudget: a pass ends when its time is over, whoever it waits for.
func TestBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.many(2)
	w.clock.Advance(grace)
	w.hang(-1, nil)
	got, err := reconcile.New(reconcile.Options{Ledger: w.ledger, Gemini: w.client, Budget: 200 * time.Millisecond, Log: logging.New(w.log, "p")}).Pass(t.Context())
	// On a machine so slow that nothing was read in that time, that is the error.
	if err != nil && !errors.Is(err, context.DeadlineExceeded) || err == nil && (!got.More || got.Errors != 0) {
		t.Errorf("%+v %v, want more to do", got, err)
	}
}

// TestCutOff: a pass whose caller goes in the middle loses nothing: what it took is due an interval later, the rest at once.
func TestCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := w.many(110)
	w.clock.Advance(grace)
	w.endAll(names, geminisim.InteractionCompleted)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var n atomic.Int32
	w.inFront(func(http.ResponseWriter, *http.Request) bool {
		if n.Add(1) == 40 {
			cancel()
		}
		return false
	})
	first, err := w.reconciler(w.ledger).Pass(ctx)
	if err != nil || !first.More || first.Errors != 0 || first.Checked < 32 || first.Checked > 60 {
		t.Errorf("%+v %v", first, err)
	}
	w.inFront(nil)
	second, err := w.reconciler(w.ledger).Pass(t.Context())
	if err != nil || second.More || second.Errors != 0 || second.Due != len(names)-first.Checked {
		t.Errorf("%+v %v after %+v", second, err, first)
	}
	w.clock.Advance(interval)
	third, err := w.reconciler(w.ledger).Pass(t.Context())
	if err != nil || first.Settled+second.Settled+third.Settled != len(names) {
		t.Errorf("%+v, %+v and %+v %v: not all of %d are settled", first, second, third, err, len(names))
	}
	sent := map[ledger.Message]bool{}
	for _, m := range w.outbox.Take() {
		m.Attempt = 0
		sent[m] = true
	}
	if len(sent) != len(names) {
		t.Errorf("%d effects were handed over", len(sent))
	}
}

// TestOverlap: passes at the same time, all of which saw the same operations due, ask no more than one does, and hand each
// effect over once [R6].
func TestOverlap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := w.many(40)
	w.outbox.Fail(errors.New("the queue is down"))
	for _, name := range names[:10] {
		w.deliver(name, "m-"+name.Key.ID(), operation.Succeeded)
	}
	w.outbox.Fail(nil)
	w.clock.Advance(grace)
	const passes = 3
	var sweeps, lookups sync.WaitGroup
	sweeps.Add(passes)
	lookups.Add(passes)
	var group sync.WaitGroup
	var mu sync.Mutex
	var sum reconcile.Summary
	for range passes {
		l := w.over(both{w.store, &sweeps, &lookups})
		group.Go(func() {
			got, err := w.reconciler(l).Pass(t.Context())
			if err != nil || got.Errors != 0 || got.More {
				t.Errorf("%+v %v", got, err)
			}
			mu.Lock()
			defer mu.Unlock()
			sum.Checked += got.Checked
			sum.EffectsRequeued += got.EffectsRequeued
		})
	}
	group.Wait()
	if sum.Checked != 30 || sum.EffectsRequeued != 10 || len(w.outbox.Take()) != 10 {
		t.Errorf("together %+v, want 30 looked up and 10 handed over", sum)
	}
	for i, name := range names {
		want := 1
		if i < 10 {
			want = 0
		}
		if n := w.lookups()[string(name.Key)]; n != want {
			t.Errorf("%s was looked up %d times", name.Key, n)
		}
		if rec := w.record(name); rec.Attempts != want {
			t.Errorf("%s counts %d attempts", name.Key, rec.Attempts)
		}
	}
}

// both is a store at which sweeps meet, and then look-ups.
type both struct {
	ledger.Store
	sweeps, lookups *sync.WaitGroup
}

func (b both) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	where := b.sweeps
	switch q.Collection {
	case ledger.OperationsCollection:
		where = b.lookups
	case ledger.IntentsCollection:
		return b.Store.Query(ctx, q)
	}
	page, err := b.Store.Query(ctx, q)
	where.Done()
	where.Wait()
	return page, err
}

// TestNothingReadable: where nothing at all can be read the pass says so with an error; where only one of the two can, it
// does that one.
func TestNothingReadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.many(1)
	w.clock.Advance(grace)
	w.pass(reconcile.Summary{Due: 1, Checked: 1, Running: 1})
	// The time can be told and documents can be read, but nothing can be found: a deployment without its indexes.
	w.exec("ALTER TABLE documents RENAME COLUMN due_at TO gone")
	if got, err := w.reconciler(w.ledger).Pass(t.Context()); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("nothing can be found: %+v %v", got, err)
	}
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := w.reconciler(w.ledger).Pass(t.Context()); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("closed: %+v %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := w.reconciler(w.ledger).Pass(ctx); err == nil {
		t.Errorf("cancelled: %+v", got)
	}
}
