package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// forgetting is a move that forgets the world's operation; ErrHeld is no error, and
// noted.
func (w *world) forgetting(held *bool) move {
	return func(l *ledger.Ledger) error {
		_, err := l.Operations.Forget(w.ctx, w.name.Key)
		if *held = errors.Is(err, ledger.ErrHeld); *held {
			return nil
		}
		return err
	}
}

// left returns how many documents there are of the world's operation.
func (w *world) left() int {
	w.Helper()
	n := 0
	for collection, field := range map[string]string{
		ledger.DeliveriesCollection: ledger.FieldReceivedAt, ledger.EffectsCollection: ledger.FieldCreatedAt,
	} {
		found, err := w.store.Query(w.ctx, ledger.Query{
			Collection: collection, Under: ledger.OperationPath(w.name.Key), OrderBy: field, Limit: 1000,
		})
		if err != nil {
			w.Fatal(err)
		}
		n += len(found)
	}
	if w.document(ledger.OperationPath(w.name.Key)).Exists() {
		n++
	}
	return n
}

// forgotten checks that nothing of the world's operation is left, nor its intent.
func (w *world) forgotten() {
	w.Helper()
	equal(w, "documents left", w.left(), 0)
	equal(w, "claim", w.claim(publish).Verdict, ledger.Absent)
	if _, err := w.ledger().Operations.Forget(w.ctx, w.name.Key); !errors.Is(err, ledger.ErrNotFound) {
		w.Errorf("Forget again: %v, want ErrNotFound", err)
	}
}

// deliveries leaves n deliveries of the world's operation behind.
func (w *world) deliveries(n int) {
	w.Helper()
	var writes []ledger.Write
	for i := range n {
		id := fmt.Sprintf("long-%04d", i)
		path := ledger.OperationPath(w.name.Key).Child(ledger.DeliveriesCollection, id)
		writes = append(writes, ledger.Write{Path: path, Data: ledger.Delivery{ID: id, ReceivedAt: w.start}})
	}
	for batch := range slices.Chunk(writes, 150) {
		if _, err := w.store.Commit(w.ctx, batch...); err != nil {
			w.Fatal(err)
		}
	}
}

// whole creates a whole operation: a record with an intent, an effect that is done, and a delivery.
// Those are four documents.
func (w *world) whole() {
	w.Helper()
	if _, err := w.ledger().Operations.Register(w.ctx, w.correlated("c-1")); err != nil {
		w.Fatal(err)
	}
	w.ingest(w.event("d1", operation.Succeeded, time.Second))
	w.finish(w.granted(publish))
}

// A beforeQuery calls a function before each query.
type beforeQuery struct {
	ledger.Store
	do func()
}

func (s beforeQuery) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	s.do()
	return s.Store.Query(ctx, q)
}

var operationForget = join([]ledgerTest{
	{"an operation with everything under it, and nothing else [S7, L3]", func(w *world) {
		other := w.name
		w.name = nameOf(w, "batches/abc-123/not")
		w.succeed()
		w.name = other
		w.whole()
		n, err := w.ledger().Operations.Forget(w.ctx, w.name.Key)
		if err != nil || n != 4 {
			w.Errorf("Forget: %d, %v, want 4", n, err)
		}
		w.forgotten()
		// Its intent is no longer tied to it.
		equal(w, "an event with its correlation id", w.ingest(w.renamed("d2", "c-1")).Key, w.renamed("d2", "c-1").Key)
		w.name = nameOf(w, "batches/abc-123/not")
		equal(w, "documents of another", w.left(), 3)
	}},
	{"the intent of another stays [K6]", func(w *world) {
		w.whole()
		other := w.name
		w.name = nameOf(w, "batches/other")
		if _, err := w.store.Commit(w.ctx, ledger.Write{Path: ledger.OperationPath(w.name.Key), Data: operation.Record{
			Version: 1, Key: w.name.Key, Submission: operation.Submission{CorrelationID: "c-1"}, State: operation.Running,
			CreatedAt: w.start,
		}}); err != nil {
			w.Fatal(err)
		}
		if n, err := w.ledger().Operations.Forget(w.ctx, w.name.Key); err != nil || n != 1 {
			w.Errorf("Forget: %d, %v", n, err)
		}
		equal(w, "an event with the id", w.ingest(w.renamed("d2", "c-1")).Key, other.Key)
	}},
	{"documents without a record [L3, R4]", func(w *world) {
		w.paged()
		w.whole()
		w.delete(ledger.OperationPath(w.name.Key)) // TTL deletion leaves what is under it
		if n, err := w.ledger().Operations.Forget(w.ctx, w.name.Key); err != nil || n != 2 {
			w.Errorf("Forget: %d, %v, want 2", n, err)
		}
		w.forgotten()
		if err := w.alerting("webhooks/w1", new(ledger.Alerted))(w.ledger()); err != nil {
			w.Fatal(err)
		}
		if n, err := w.ledger().Operations.Forget(w.ctx, "webhooks/w1"); err != nil || n != 1 {
			w.Errorf("Forget what is no operation: %d, %v, want 1", n, err)
		}
	}},
	{"not while a worker runs an effect [S6]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		before := w.left()
		if _, err := w.ledger().Operations.Forget(w.ctx, w.name.Key); !errors.Is(err, ledger.ErrHeld) {
			w.Errorf("Forget: %v, want ErrHeld", err)
		}
		equal(w, "documents left", w.left(), before)
		w.store.Advance(w.settings.ClaimTTL + time.Second)
		if n, err := w.ledger().Operations.Forget(w.ctx, w.name.Key); err != nil || n != before {
			w.Errorf("Forget when the lease is over: %d, %v, want %d", n, err, before)
		}
		w.lost(lease)
		w.forgotten()
	}},
	{"a crash at every point, and again [L3, S7]", func(w *world) {
		w.whole()
		w.deliveries(250)
		for crashes := 0; ; crashes++ {
			if crashes > 20 {
				w.Fatal("it does not end")
			}
			commits := 0
			l := w.over(InjectFunc(w.store, func() Fault {
				if commits++; commits > 1 {
					return FailBefore
				}
				return None
			}))
			_, err := l.Operations.Forget(w.ctx, w.name.Key)
			if err == nil {
				if crashes < 3 {
					w.Errorf("it took only %d commits", crashes+1)
				}
				break
			}
			rec := w.record()
			equal(w, "the record names the effect to the last", rec.Effects[publish], operation.EffectDone)
			// No event meanwhile runs the effect once more.
			equal(w, "registered again, planned", w.register().Planned, 0)
			if crashes == 0 { // each leaves one more document behind
				equal(w, "the same end again, planned", w.ingest(w.event("d1", operation.Succeeded, time.Second)).Planned, 0)
			}
		}
		w.forgotten()
	}},
	{"an event before the last commit [M6]", func(w *world) {
		w.register()
		commits := 0
		l := w.over(InjectFunc(w.store, func() Fault {
			if commits++; commits == 1 {
				w.ingest(w.event("d1", operation.Succeeded, time.Second))
			}
			return None
		}))
		if n, err := l.Operations.Forget(w.ctx, w.name.Key); err != nil || n != 3 {
			w.Errorf("Forget: %d, %v, want the record, the delivery and the effect", n, err)
		}
		w.forgotten()
	}},
	{"registered again while it is forgotten: no record without its effects [L3, M6]", func(w *world) {
		w.whole()
		w.delete(ledger.OperationPath(w.name.Key))
		queries := 0
		l := w.over(beforeQuery{w.store, func() {
			if queries++; queries == 1 {
				w.register()
				w.ingest(w.event("d2", operation.Failed, time.Hour))
			}
		}})
		if _, err := l.Operations.Forget(w.ctx, w.name.Key); err != nil {
			w.Errorf("Forget: %v", err)
		}
		w.forgotten()
	}},
	{"nothing to forget", func(w *world) {
		if n, err := w.ledger().Operations.Forget(w.ctx, w.name.Key); !errors.Is(err, ledger.ErrNotFound) || n != 0 {
			w.Errorf("Forget: %d, %v, want ErrNotFound", n, err)
		}
	}},
},
	both("forgetting against an event [M6, W5]", func(w *world) (a, b move, check func()) {
		w.register()
		var held bool
		var hook ledger.Receipt
		return w.forgetting(&held), w.ingesting(w.event("d1", operation.Succeeded, time.Second), &hook), func() {
			// Either it was forgotten with the event, or the event met an unregistered
			// operation.
			equal(w, "held", held, false)
			if rec := w.record(); rec.Registered || len(rec.Effects) > 0 {
				w.Errorf("the record: %+v", rec)
			}
			equal(w, "the effect", w.claim(publish).Verdict, ledger.Absent)
		}
	}),
	both("forgetting against a claim [S3, S6]", func(w *world) (a, b move, check func()) {
		w.succeed()
		var held bool
		var grant ledger.Grant
		return w.forgetting(&held), w.claiming(&grant), func() {
			if held {
				equal(w, "claim", grant.Verdict, ledger.Claimed)
				w.finish(grant.Lease)
				equal(w, "the record", w.record().Effects[publish], operation.EffectDone)
				return
			}
			equal(w, "claim", grant.Verdict, ledger.Absent)
			w.forgotten()
		}
	}),
	both("forgetting twice at once", func(w *world) (a, b move, check func()) {
		w.whole()
		var held bool
		return w.forgetting(&held), w.forgetting(&held), w.forgotten
	}),
	unansweredForgets(),
	intentForgets,
)

// unansweredForgets inject each fault at each of the three commits that forget a whole
// operation.
func unansweredForgets() []ledgerTest {
	var tests []ledgerTest
	for _, fault := range []Fault{FailBefore, LoseAnswer, Abort, RepeatItself} {
		for at := range 3 {
			tests = append(tests, ledgerTest{fmt.Sprintf("Forget, commit %d (%s)", at+1, fault), func(w *world) {
				w.whole()
				n, err := w.over(Inject(w.store, append(Times(at, None), fault)...)).Operations.Forget(w.ctx, w.name.Key)
				if err != nil || n != 4 {
					w.Errorf("Forget: %d, %v, want 4", n, err)
				}
				w.forgotten()
			}})
		}
	}
	return tests
}
