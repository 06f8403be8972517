package ledgertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// alerting is a move that alerts about subject and keeps the answer in a.
func (w *world) alerting(subject operation.Key, a *ledger.Alerted) move {
	return func(l *ledger.Ledger) (err error) {
		*a, err = l.Passes.AlertAbout(w.ctx, subject, ledger.AlertDisabled, w.start, "switched off")
		return err
	}
}

// alertsOf returns the names of the effects under a subject.
func (w *world) alertsOf(subject operation.Key) []string {
	w.Helper()
	found, err := w.store.Query(w.ctx, ledger.Query{
		Collection: ledger.EffectsCollection, Under: ledger.OperationPath(subject),
		OrderBy: ledger.FieldCreatedAt, Limit: 100,
	})
	if err != nil {
		w.Fatal(err)
	}
	var names []string
	for _, doc := range found {
		var effect ledger.Effect
		if err := doc.Decode(&effect); err != nil {
			w.Fatal(err)
		}
		names = append(names, effect.Name)
	}
	return names
}

// alertAbout are alerts about what is no operation.
var alertAbout = []ledgerTest{
	{"an alert about what is no operation, once in every AlertEvery, through to its end [R4, S1, S2]", func(w *world) {
		w.paged()
		const subject operation.Key = "webhooks/w1"
		var one, two ledger.Alerted
		counting := Count(w.store)
		for _, a := range []*ledger.Alerted{&one, &two} {
			if err := w.alerting(subject, a)(w.over(counting)); err != nil {
				w.Fatal(err)
			}
		}
		equal(w, "commits", counting.Counts().Commits, 1)
		equal(w, "planned", fmt.Sprint(one.Planned, two.Planned), "1 0")
		names := w.alertsOf(subject)
		equal(w, "effects", len(names), 1)
		w.published(names[0])
		equal(w, "a record", w.document(ledger.OperationPath(subject)).Exists(), false)

		w.name.Key = subject
		notice := w.alert(names[0], "disabled")
		equal(w, "detail", notice.Detail, "switched off")
		equal(w, "since", notice.Since.Equal(w.start), true)
		equal(w, "swept [R5]", w.sweep(), 1)
		w.store.Advance(w.release(w.granted(names[0]), 0))
		w.finish(w.granted(names[0]))
		if effect := w.effect(names[0]); effect.State != ledger.EffectDone || effect.ExpireAt.IsZero() {
			w.Errorf("the effect: %+v", effect)
		}
		w.store.Advance(w.settings.AlertEvery - w.now().Sub(w.effect(names[0]).CreatedAt) - time.Minute)
		if err := w.alerting(subject, &two)(w.ledger()); err != nil || two.Planned != 0 {
			w.Errorf("before AlertEvery is over: %+v, %v", two, err)
		}
		w.store.Advance(time.Minute)
		if err := w.alerting(subject, &two)(w.ledger()); err != nil || two.Planned != 1 {
			w.Errorf("after AlertEvery: %+v, %v", two, err)
		}
		second := w.alertsOf(subject)[1]
		equal(w, "names", fmt.Sprint(names[0], " ", second), "page@disabled-1 page@disabled-2")
		if err := w.ledger().Effects.MarkDead(w.ctx, w.granted(second), errFailed); err != nil {
			w.Errorf("MarkDead: %v", err)
		}
		equal(w, "dead", w.claim(second).Verdict, ledger.Dead)
		equal(w, "a record, after all", w.document(ledger.OperationPath(subject)).Exists(), false)
	}},
	{"a condition that began after the last alert is alerted again [R4]", func(w *world) {
		w.paged()
		about := func(since time.Time) int {
			alerted, err := w.ledger().Passes.AlertAbout(w.ctx, "webhooks/w1", ledger.AlertDisabled, since, "switched off")
			if err != nil {
				w.Fatal(err)
			}
			return alerted.Planned
		}
		equal(w, "the first", about(time.Time{}), 1)
		w.store.Advance(time.Minute)
		equal(w, "the same", about(time.Time{}), 0)
		equal(w, "one that began before", about(w.start), 0)
		equal(w, "one that began since", about(w.now()), 1)
		equal(w, "the same as that", about(w.now().Add(-30*time.Second)), 0)
		w.published("page@disabled-1", "page@disabled-2")
	}},
	{"an alert is remembered for AlertEvery, also where the retention is short [R4, L3]", func(w *world) {
		w.paged()
		w.settings.AlertEvery = 3 * w.settings.Retention
		if err := w.alerting("webhooks/w1", new(ledger.Alerted))(w.ledger()); err != nil {
			w.Fatal(err)
		}
		w.name.Key = "webhooks/w1"
		w.finish(w.granted("page@disabled-1"))
		near(w, "its expiry", w.effect("page@disabled-1").ExpireAt.Sub(w.now()), w.settings.AlertEvery)
	}},
	{"an alert that cannot be written is an error, and plans nothing [R4]", func(w *world) {
		w.paged()
		if err := w.alerting("webhooks", new(ledger.Alerted))(w.ledger()); !errors.Is(err, ledger.ErrInvalid) {
			w.Errorf("AlertAbout what is no subject: %v, want ErrInvalid", err)
		}
		never := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
		if a, err := w.ledger().Passes.AlertAbout(w.ctx, "webhooks/w1", ledger.AlertDisabled, never, ""); err == nil {
			w.Errorf("AlertAbout at a time that JSON does not have: %+v", a)
		}
		equal(w, "effects", len(w.alertsOf("webhooks/w1")), 0)
		w.published()
	}},
	{"one without a record is marked dead, too [S2]", func(w *world) {
		w.paged()
		w.settings.MaxAttempts, w.settings.RetryFor = 1, 0
		if err := w.alerting("webhooks/w1", new(ledger.Alerted))(w.ledger()); err != nil {
			w.Fatal(err)
		}
		w.name.Key = "webhooks/w1"
		name := w.alertsOf(w.name.Key)[0]
		equal(w, "given up", w.failed(w.ledger(), w.granted(name), 0).Dead, true)
		equal(w, "the second claim", w.claim(name).Verdict, ledger.Dead)
	}},
	{"intents of any id have alerts of their own [K6, R4]", func(w *world) {
		w.paged()
		ids := []string{"c-1", "batches/abc-123", "c 1", "c-1 ", "a/b:c%\x00__x__\u2028 "}
		for _, id := range ids {
			alerted, err := w.ledger().Passes.AlertAbout(w.ctx, operation.Key("intents/"+id), ledger.AlertUnbound,
				w.start, "unbound")
			if err != nil || alerted.Planned != 1 {
				w.Errorf("%q: %+v, %v", id, alerted, err)
			}
		}
		sent := w.outbox.sent()
		slices.SortFunc(
			sent, func(a, b ledger.Message) int { return strings.Compare(string(a.Operation), string(b.Operation)) },
		)
		equal(w, "subjects", len(slices.Compact(sent)), len(ids))
		for _, m := range sent {
			text, err := json.Marshal(m)
			if err != nil {
				w.Fatal(err)
			}
			if m, err = ledger.ParseMessage(text); err != nil {
				w.Fatal(err)
			}
			if grant, err := w.ledger().Effects.Claim(w.ctx, m.Operation,
				m.Effect); err != nil || grant.Verdict != ledger.Claimed {
				w.Errorf("%s: %+v, %v", text, grant, err)
			}
		}
	}},
}
