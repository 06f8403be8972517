package ledgertest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Renumber sets the schema number of a document, and leaves the rest as it is: a number above
// operation.NewestSchema makes it one of a newer revision.
func Renumber(t testing.TB, store ledger.Store, path ledger.Path, number int) {
	t.Helper()
	rewrite(t, store, path, struct {
		Schema int `json:"schema" firestore:"schema"`
	}{number})
}

// rewrite sets the fields of a document that data has, and leaves the others as they are.
func rewrite(t testing.TB, store ledger.Store, path ledger.Path, data any) {
	t.Helper()
	snapshot, err := store.Get(t.Context(), path)
	if err != nil {
		t.Fatalf("Get %s: %v", path, err)
	}
	_, err = store.Commit(t.Context(), ledger.Write{Path: path, Token: snapshot.Documents[0].Token, Data: data})
	if err != nil {
		t.Fatalf("rewriting %s: %v", path, err)
	}
}

// raise makes a document one of a newer revision.
func (w *world) raise(path ledger.Path) {
	w.Helper()
	Renumber(w.T, w.store.Store.(*Checked).Store, path, operation.NewestSchema+1)
}

// A reshaped is a document of a newer revision in which a field has another type. Each query of the
// ledger finds it.
type reshaped struct {
	Schema        int       `json:"schema" firestore:"schema"`
	Version       []string  `json:"version" firestore:"version"`
	DeadEffect    bool      `json:"deadEffect" firestore:"deadEffect"`
	WithoutRecord bool      `json:"withoutRecord" firestore:"withoutRecord"`
	DueAt         time.Time `json:"dueAt" firestore:"dueAt"`
	CreatedAt     time.Time `json:"createdAt" firestore:"createdAt"`
	ReceivedAt    time.Time `json:"receivedAt" firestore:"receivedAt"`
}

// newerIn checks that a page left documents alone because they are newer, and goes on behind them.
func newerIn[T any](w *world, what string, page func(after ledger.Cursor) (ledger.Page[T], error)) {
	w.Helper()
	newerSays := fmt.Sprint("its schema is ", operation.NewestSchema+1)
	items, newer := 0, 0
	for after, more := (ledger.Cursor{}), true; more; more = after.Path != "" {
		found, err := page(after)
		if err != nil {
			w.Fatalf("%s: %v", what, err)
		}
		for _, broken := range found.Broken {
			if newer++; !errors.Is(broken, ledger.ErrNewer) || !strings.Contains(broken.Error(), newerSays) {
				w.Errorf("%s: %v, want that it is newer", what, broken)
			}
		}
		items, after = items+len(found.Items), found.Next
	}
	if items != 1 || newer != 2 {
		w.Errorf("%s: %d documents, and %d left alone; want 1 and 2", what, items, newer)
	}
}

// leftAlone checks that each call finds a newer document, and that none writes one of paths.
func (w *world) leftAlone(calls map[string]func(l *ledger.Ledger) error, paths ...ledger.Path) {
	w.Helper()
	before := make([]ledger.Token, len(paths))
	for i, path := range paths {
		before[i] = w.document(path).Token
	}
	for what, call := range calls {
		if err := call(w.ledger()); !errors.Is(err, ledger.ErrNewer) {
			w.Errorf("%s: %v, want ErrNewer", what, err)
		}
	}
	for i, path := range paths {
		equal(w, string(path), w.document(path).Token, before[i])
	}
}

var ledgerNewer = []ledgerTest{
	{"a document of a newer revision fails no page, and hides no other [L6, R6]", func(w *world) {
		w.died()
		other := w.name
		w.name = nameOf(w, "batches/waits")
		w.register()
		w.name = nameOf(w, "batches/open")
		w.succeed()
		open := w.name
		w.keep(suspect("d1"))
		w.intend("i-1")
		w.store.Advance(w.settings.StuckAfter + time.Minute)
		odd := reshaped{operation.NewestSchema + 1, []string{"not a number"}, true, true, w.start, w.start, w.start}
		effects := ledger.OperationPath(open.Key)
		for i := range 2 {
			id := fmt.Sprintf("newer-%d", i)
			for _, path := range []ledger.Path{
				ledger.OperationPath(operation.Key("batches/" + id)), ledger.Path("intents/" + id), ledger.Path("quarantine/" + id),
				effects.Child(ledger.DeliveriesCollection, id), effects.Child(ledger.EffectsCollection, id),
			} {
				w.plant(path, odd)
			}
		}
		l, now := w.ledger(), w.now()
		for limit := 1; limit <= 3; limit++ {
			newerIn(w, "operations due", func(after ledger.Cursor) (ledger.Page[ledger.DueOperation], error) {
				return l.Operations.Due(w.ctx, now, after, limit)
			})
			newerIn(w, "effects due", func(after ledger.Cursor) (ledger.Page[ledger.DueEffect], error) {
				return l.Effects.Due(w.ctx, now, after, limit)
			})
			newerIn(w, "intents due", func(after ledger.Cursor) (ledger.Page[ledger.DueIntent], error) {
				return l.Intents.Due(w.ctx, now, after, limit)
			})
			newerIn(w, "intents", func(after ledger.Cursor) (ledger.Page[ledger.DueIntent], error) {
				return l.Intents.Waiting(w.ctx, after, limit)
			})
			newerIn(w, "pending", func(after ledger.Cursor) (ledger.Page[operation.Record], error) {
				return l.Operations.List(w.ctx, ledger.Filter{Pending: true, After: after, Limit: limit})
			})
			newerIn(w, "quarantine", func(after ledger.Cursor) (ledger.Page[ledger.Quarantined], error) {
				return l.Quarantine.List(w.ctx, ledger.QuarantineFilter{After: after, Limit: limit})
			})
		}
		page, err := l.Operations.List(w.ctx, ledger.Filter{Dead: true, Limit: 9})
		if err != nil || len(page.Items) != 1 || page.Items[0].Key != other.Key || len(page.Broken) != 4 {
			w.Errorf("dead: %+v, %v", page, err)
		}
		page, err = l.Operations.List(w.ctx, ledger.Filter{JobKind: "no-*", Limit: 9})
		if err != nil || len(page.Items) != 0 || len(page.Broken) != 2 {
			w.Errorf("of another job kind: %+v, %v", page, err)
		}
		story := w.show()
		if len(story.Deliveries) != 1 || len(story.Effects) != 1 || len(story.Broken) != 4 {
			w.Errorf("the story: %+v", story)
		}
		equal(w, "handed over by the sweep", w.sweep(), 1)
	}},
	{"a record of a newer revision is left alone, with its effects [L6]", func(w *world) {
		w.died()
		died := w.name
		w.name = nameOf(w, "batches/other")
		w.succeed()
		key, record := w.name.Key, ledger.OperationPath(w.name.Key)
		w.raise(record)
		w.raise(ledger.OperationPath(died.Key))
		again := w.asked(publish, "m2")
		again.Operation = died.Key
		w.leftAlone(map[string]func(l *ledger.Ledger) error{
			"Ingest": func(l *ledger.Ledger) error {
				_, err := l.Operations.Ingest(w.ctx, w.event("d9", operation.Failed, time.Minute))
				return err
			},
			"Register": func(l *ledger.Ledger) error {
				_,
					err := l.Operations.Register(w.ctx, w.registration())
				return err
			},
			"Abandon": func(l *ledger.Ledger) error { _, err := l.Operations.Abandon(w.ctx, key, givingUp); return err },
			"RecordCondition": func(l *ledger.Ledger) error {
				_,
					err := l.Operations.RecordCondition(w.ctx, key, "x")
				return err
			},
			"MakeDueNow": func(l *ledger.Ledger) error { _, err := l.Operations.MakeDueNow(w.ctx, key); return err },
			"Record":     func(l *ledger.Ledger) error { _, err := l.Operations.Read(w.ctx, key); return err },
			"Forget":     func(l *ledger.Ledger) error { _, err := l.Operations.Forget(w.ctx, key); return err },
			"ReadUnverified": func(l *ledger.Ledger) error {
				_, err := l.Operations.ReadUnverified(w.ctx, w.name, "", "d9")
				return err
			},
			// The end of the effect could not be recorded, so that it would be run again.
			"Claim": func(l *ledger.Ledger) error { _, err := l.Effects.Claim(w.ctx, key, publish); return err },
			"Effects.Waive": func(l *ledger.Ledger) error {
				_, err := l.Effects.Waive(w.ctx, died.Key, publish, givingUp)
				return err
			},
			"Replay": func(l *ledger.Ledger) error { _, err := l.Effects.Replay(w.ctx, again); return err },
		}, record, ledger.EffectPath(key, publish), ledger.OperationPath(died.Key), ledger.EffectPath(died.Key, publish))
	}},
	{"an effect and an intent of a newer revision are left alone [L6]", func(w *world) {
		w.succeed()
		w.intend("i-1")
		key, effect := w.name.Key, ledger.EffectPath(w.name.Key, publish)
		w.raise(effect)
		w.raise("intents/i-1")
		unregistered := nameOf(w, "batches/unregistered")
		w.leftAlone(map[string]func(l *ledger.Ledger) error{
			"Claim":       func(l *ledger.Ledger) error { _, err := l.Effects.Claim(w.ctx, key, publish); return err },
			"ClaimStatus": func(l *ledger.Ledger) error { _, err := l.Effects.ClaimStatus(w.ctx, key, publish); return err },
			"Decline":     func(l *ledger.Ledger) error { _, err := l.Effects.Decline(w.ctx, key, publish); return err },
			"Replay": func(l *ledger.Ledger) error {
				_,
					err := l.Effects.Replay(w.ctx, w.asked(publish, "m1"))
				return err
			},
			"Intend": func(l *ledger.Ledger) error { _, err := l.Intents.Intend(w.ctx, w.intention("i-1")); return err },
			"Intent": func(l *ledger.Ledger) error { _, err := l.Intents.Read(w.ctx, "i-1"); return err },
			"Ingest with its id": func(l *ledger.Ledger) error {
				e := w.event("d9", operation.Succeeded, time.Minute)
				e.Name, e.CorrelationID = unregistered, "i-1"
				_, err := l.Operations.Ingest(w.ctx, e)
				return err
			},
			"Register with its id": func(l *ledger.Ledger) error {
				r := w.correlated("i-1")
				r.Name = unregistered
				_, err := l.Operations.Register(w.ctx, r)
				return err
			},
		}, effect, "intents/i-1", ledger.OperationPath(unregistered.Key))
	}},
	{"an operation of a newer revision stops no event about another one [L6, K6]", func(w *world) {
		w.name = nameOf(w, "batches/of-the-id")
		if _, err := w.ledger().Operations.Register(w.ctx, w.correlated("c-1")); err != nil {
			w.Fatal(err)
		}
		w.raise(ledger.OperationPath(w.name.Key))
		e := w.event("d1", operation.Succeeded, time.Minute)
		e.Name, e.CorrelationID = nameOf(w, "batches/0123456789abcdefghijklmnopqrstuvwxyz"), "c-1"
		r := w.ingest(e)
		equal(w, "outcome", r.Outcome, ledger.Applied)
		equal(w, "disputed", r.Disputed, w.name.Key)
	}},
	{"an alert that a newer revision planned is planned [L6, R4]", func(w *world) {
		w.paged()
		var alerted ledger.Alerted
		if err := w.alerting("webhooks/first", &alerted)(w.ledger()); err != nil || alerted.Planned != 1 {
			w.Fatalf("%+v, %v", alerted, err)
		}
		w.raise(ledger.EffectPath("webhooks/first", w.alertsOf("webhooks/first")[0]))
		if err := w.alerting("webhooks/first", &alerted)(w.ledger()); err != nil || alerted.Planned != 0 {
			w.Errorf("again: %+v, %v", alerted, err)
		}
	}},
}
