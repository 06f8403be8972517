package ledgertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// plant writes a document that the ledger would not write.
func (w *world) plant(path ledger.Path, data any) {
	w.Helper()
	if _, err := w.store.Store.(*Checked).Store.Commit(w.ctx, ledger.Write{Path: path, Data: data}); err != nil {
		w.Fatalf("planting %s: %v", path, err)
	}
}

// garbage is a document that the ledger cannot decode, and that each of its queries finds.
type garbage struct {
	Version       string    `json:"version" firestore:"version"`
	ID            int       `json:"id" firestore:"id"`
	DeadEffect    bool      `json:"deadEffect" firestore:"deadEffect"`
	WithoutRecord bool      `json:"withoutRecord" firestore:"withoutRecord"`
	DueAt         time.Time `json:"dueAt" firestore:"dueAt"`
	CreatedAt     time.Time `json:"createdAt" firestore:"createdAt"`
	ReceivedAt    time.Time `json:"receivedAt" firestore:"receivedAt"`
}

// left checks how many documents a list found, and which it left alone.
func left[T any](w *world, what string, items int, broken ...ledger.Path) func(ledger.Page[T], error) {
	return func(page ledger.Page[T], err error) {
		w.Helper()
		var paths []ledger.Path
		for _, b := range page.Broken {
			paths = append(paths, b.Path)
			if errors.As(b.Err, new(ledger.Broken)) {
				w.Errorf("%s: twice broken: %v", what, b)
			}
		}
		if err != nil || len(page.Items) != items || fmt.Sprint(paths) != fmt.Sprint(broken) {
			w.Errorf("%s: %d items, left alone %q, %v; want %d, %q", what, len(page.Items), paths, err, items, broken)
		}
	}
}

// A deadAlert is a dead effect about something that is no operation.
func (w *world) deadAlert(subject operation.Key) string {
	w.Helper()
	var alerted ledger.Alerted
	if err := w.alerting(subject, &alerted)(w.ledger()); err != nil || alerted.Planned != 1 {
		w.Fatalf("AlertAbout: %+v, %v", alerted, err)
	}
	w.name = operation.Name{Key: subject}
	names := w.alertsOf(subject)
	w.markDead(names[len(names)-1])
	return names[len(names)-1]
}

var operationReadBroken = []ledgerTest{
	{"a document that cannot be read fails no list and no story [R6]", func(w *world) {
		w.died()
		w.keep(suspect("d1"))
		w.intend("i-1")
		odd := garbage{"not a number", 1, true, true, w.start, w.start, w.start}
		record, intent, kept := ledger.OperationPath("batches/odd"), ledger.Path("intents/odd"), ledger.Path("quarantine/odd")
		delivery := ledger.OperationPath(w.name.Key).Child(ledger.DeliveriesCollection, "odd")
		effect := ledger.EffectPath(w.name.Key, "odd")
		for _, path := range []ledger.Path{record, intent, kept, delivery, effect} {
			w.plant(path, odd)
		}
		l := w.ledger()
		left[operation.Record](w, "all", 1, record)(l.Operations.List(w.ctx, ledger.Filter{Limit: 9}))
		left[operation.Record](w, "waited for", 0, record)(l.Operations.List(w.ctx, ledger.Filter{Pending: true, Limit: 9}))
		left[operation.Record](w, "dead", 1, record, effect)(l.Operations.List(w.ctx, ledger.Filter{Dead: true, Limit: 9}))
		left[ledger.DueIntent](w, "intents", 1, intent)(l.Intents.Waiting(w.ctx, ledger.Cursor{}, 9))
		left[ledger.Quarantined](w, "quarantine", 1, kept)(l.Quarantine.List(w.ctx, ledger.QuarantineFilter{Limit: 9}))
		equal(w, "one by one", fmt.Sprint(w.list(ledger.Filter{})), fmt.Sprint([]operation.Key{w.name.Key}))

		story := w.show()
		if len(story.Deliveries) != 1 || len(story.Effects) != 1 || story.Record.Key != w.name.Key || len(story.Broken) != 2 {
			w.Errorf("the story: %+v", story)
		}
		story, err := l.Operations.Show(w.ctx, "batches/odd")
		if err != nil || len(story.Broken) != 1 || story.Broken[0].Path != record {
			w.Errorf("the story without a record: %+v, %v", story, err)
		}
	}},
	{"another program's documents in the same database are left alone [R6, L3]", func(w *world) {
		w.succeed()
		w.intend("i-1")
		other := w.name
		w.name = nameOf(w, "batches/pending")
		w.register()
		w.store.Advance(w.settings.StuckAfter + time.Minute)
		rec, effect, intent := w.record(), read[ledger.Effect](w, ledger.EffectPath(other.Key, publish)), w.intent("i-1")
		// In other places, and where the ledger reads by name.
		planted := map[ledger.Path]any{
			"apps/x/operations/y": rec, "apps/x/operations/y/effects/publish": effect, "apps/x/intents/z": intent,
			"operations/batches:taken": rec, "operations/batches:taken/effects/publish": effect, "intents/taken": intent,
			"intents/bound": ledger.Intent{
				Version: 1, Submission: operation.Submission{CorrelationID: "another"}, State: ledger.IntentBound,
				Operation: other.Key,
				BoundBy:   ledger.BySubmitter, CreatedAt: w.start, ExpireAt: w.start.Add(day),
			},
		}
		before := map[ledger.Path]ledger.Token{}
		for path, data := range planted {
			w.plant(path, data)
			before[path] = w.document(path).Token
		}
		l, now := w.ledger(), w.now()
		left[ledger.DueOperation](w, "due", 1, "apps/x/operations/y", "operations/batches:taken")(
			l.Operations.Due(w.ctx, now, ledger.Cursor{}, 9),
		)
		left[ledger.DueEffect](
			w, "effects due", 1, "apps/x/operations/y/effects/publish", "operations/batches:taken/effects/publish",
		)(l.Effects.Due(w.ctx, now, ledger.Cursor{}, 9))
		left[ledger.DueIntent](w, "intents due", 1, "apps/x/intents/z", "intents/taken")(
			l.Intents.Due(w.ctx, now, ledger.Cursor{}, 9),
		)
		left[operation.Record](w, "all", 2, "operations/batches:taken", "apps/x/operations/y")(
			l.Operations.List(w.ctx, ledger.Filter{Limit: 9}),
		)

		w.name = nameOf(w, "batches/taken")
		replayed := w.asked(publish, "m1")
		for what, do := range map[string]func() error{
			"Ingest": func() error {
				_, err := l.Operations.Ingest(w.ctx, w.event("d9", operation.Succeeded, time.Minute))
				return err
			},
			"Ingest by its id": func() error {
				_, err := l.Operations.Ingest(w.ctx, w.renamed("d9", "bound"))
				return err
			},
			"Register":      func() error { _, err := l.Operations.Register(w.ctx, w.registration()); return err },
			"Abandon":       func() error { _, err := l.Operations.Abandon(w.ctx, w.name.Key, givingUp); return err },
			"Claim":         func() error { _, err := l.Effects.Claim(w.ctx, w.name.Key, publish); return err },
			"Effects.Waive": func() error { _, err := l.Effects.Waive(w.ctx, w.name.Key, publish, givingUp); return err },
			"Replay":        func() error { _, err := l.Effects.Replay(w.ctx, replayed); return err },
			"Forget":        func() error { _, err := l.Operations.Forget(w.ctx, w.name.Key); return err },
			"Intend":        func() error { _, err := l.Intents.Intend(w.ctx, w.intention("taken")); return err },
			"Intent":        func() error { _, err := l.Intents.Read(w.ctx, "taken"); return err },
		} {
			if err := do(); !errors.As(err, new(ledger.Broken)) {
				w.Errorf("%s: %v, want that it is not the ledger's", what, err)
			}
		}
		for path, token := range before {
			equal(w, string(path), w.document(path).Token, token)
		}
	}},
	{"every dead effect is found, also without a record, until it is waived or replayed [S2, R4]", func(w *world) {
		w.paged()
		w.died()
		record := w.name.Key
		w.store.Advance(time.Second)
		first := w.deadAlert("webhooks/first")
		w.store.Advance(time.Second)
		second := w.deadAlert("webhooks/second")
		dead := func(want string, f ledger.Filter) {
			w.Helper()
			f.Dead = true
			equal(w, fmt.Sprintf("%+v", f), fmt.Sprint(w.list(f)), want)
		}
		dead("[batches/abc-123 webhooks/second webhooks/first]", ledger.Filter{})
		dead("[batches/abc-123]", ledger.Filter{States: []operation.State{operation.Succeeded}})
		dead("[batches/abc-123]", ledger.Filter{Collection: operation.Batches})
		page, err := w.ledger().Operations.List(w.ctx, ledger.Filter{Dead: true, Limit: 9})
		if err != nil || len(page.Items) != 3 || page.Items[1].Effects[second] != operation.EffectDead ||
			page.Items[1].Version != 0 {
			w.Fatalf("%+v, %v", page, err)
		}
		since := ledger.Filter{Dead: true, Since: page.Items[1].CreatedAt}
		dead("[webhooks/second]", since)
		if total, err := w.ledger().Operations.Count(w.ctx, since); err != nil || total.N != 1 {
			w.Errorf("counted since then: %v, %v", total, err)
		}
		equal(w, "all operations", fmt.Sprint(w.list(ledger.Filter{})), fmt.Sprint([]operation.Key{record}))
		w.replay(w.asked(second, "m1"))
		dead("[batches/abc-123 webhooks/first]", ledger.Filter{})
		w.name = operation.Name{Key: "webhooks/first"}
		w.waive(first)
		dead("[batches/abc-123]", ledger.Filter{})
		w.name = operation.Name{Key: "webhooks/second"}
		w.markDead(second)
		dead("[batches/abc-123 webhooks/second]", ledger.Filter{})
	}},
}
