package ledgertest

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// page is the effect that paged plans for alerts.
const page = "page"

// paged adds a rule that lists every alert.
func (w *world) paged() {
	w.settings.StuckAfter, w.settings.AlertEvery = time.Hour, 3*time.Hour
	w.settings.Rules = append(w.settings.Rules, ledger.Rule{Name: page, Alerts: ledger.Alerts()})
}

// postpone makes one pass over the world's operation.
func (w *world) postpone() ledger.LookUpClaim {
	w.Helper()
	due, now := w.pass()
	p, err := w.ledger().Passes.ClaimLookUp(w.ctx, due, now)
	if err != nil {
		w.Fatalf("ClaimLookUp: %v", err)
	}
	return p
}

// stuck makes passes until the next one finds the world's operation stuck, and returns what that
// pass finds.
func (w *world) stuck() (ledger.DueOperation, time.Time) {
	w.Helper()
	w.register()
	w.store.Advance(w.settings.StuckAfter + time.Minute)
	return w.pass()
}

// alert checks the payload of an alert of the world's operation and returns its notice.
func (w *world) alert(name, kind string) ledger.Notice {
	w.Helper()
	return w.alertIn(w.effect(name), kind)
}

func (w *world) alertIn(effect ledger.Effect, kind string) ledger.Notice {
	w.Helper()
	var payload ledger.Payload
	if err := json.Unmarshal([]byte(effect.Payload), &payload); err != nil || payload.Alert == nil {
		w.Fatalf("payload %q of %s: %v", effect.Payload, effect.Name, err)
	}
	equal(w, "its kind", payload.Alert.Kind, kind)
	equal(w, "its operation", payload.Operation, effect.Operation)
	equal(w, "its key [K4]", payload.IdempotencyKey, effect.IdempotencyKey)
	return *payload.Alert
}

var alertTests = []ledgerTest{
	{"stuck is an effect, one in each period [R4, S2]", func(w *world) {
		w.paged()
		due, now := w.stuck()
		p, err := w.ledger().Passes.ClaimLookUp(w.ctx, due, now)
		if err != nil || !p.Alert || p.Planned != 1 {
			w.Fatalf("%+v, %v", p, err)
		}
		w.published("page@stuck-1")
		effect := w.effect("page@stuck-1")
		equal(w, "its key [K4]", effect.IdempotencyKey, "gemini:batches/abc-123#page@stuck-1")
		equal(w, "the record [L1]", w.record().Effects["page@stuck-1"], operation.EffectOpen)
		notice := w.alert("page@stuck-1", "stuck")
		if notice.Attempts != 1 || !notice.Since.Equal(w.record().StuckSince) || !strings.Contains(notice.Detail, "PENDING") {
			w.Errorf("the notice: %+v", notice)
		}
		equal(w, "again in the same period", w.postpone().Planned, 0)
		w.published()
		w.note("overloaded")
		w.store.Advance(w.settings.AlertEvery)
		equal(w, "in the next period", w.postpone().Planned, 1)
		w.published("page@stuck-2")
		equal(w, "it says what look-ups say",
			strings.Contains(w.alert("page@stuck-2", "stuck").Detail, "inconclusive since "), true)
		// With another period no number is reused.
		w.settings.AlertEvery *= 100
		w.store.Advance(w.settings.AlertEvery)
		equal(w, "with a longer period", w.postpone().Planned, 1)
		w.published("page@stuck-3")
		equal(w, "never closed by our own judgement [M7]", w.record().State, operation.Pending)
	}},
	{"an alert runs like any effect and keeps a settled record open until it is done [L3, S1]", func(w *world) {
		w.paged()
		due, now := w.stuck()
		if _, err := w.ledger().Passes.ClaimLookUp(w.ctx, due, now); err != nil {
			w.Fatal(err)
		}
		w.ingest(w.event("d1", operation.Succeeded, time.Hour))
		w.finish(w.granted(publish))
		w.lives("settled, its alert open", false, 0)
		w.store.Advance(w.release(w.granted("page@stuck-1"), 0))
		equal(w, "swept [R5]", w.sweep(), 1)
		w.finish(w.granted("page@stuck-1"))
		equal(w, "the record", w.record().Effects["page@stuck-1"], operation.EffectDone)
		w.lives("settled, its alert done", false, w.settings.Retention)
	}},
	{"a quiet claim plans no alert: it is planned after Gemini was asked, and counts no look-up [R3, R4]", func(w *world) {
		w.paged()
		due, now := w.stuck()
		due.DefersAlert = true
		claimed, err := w.ledger().Passes.ClaimLookUp(w.ctx, due, now)
		if err != nil || claimed.Stuck || claimed.Alert || claimed.Planned != 0 {
			w.Fatalf("ClaimLookUp: %+v, %v", claimed, err)
		}
		alerted, err := w.ledger().Passes.AlertStuck(w.ctx, claimed.Operation)
		if err != nil || !alerted.Stuck || !alerted.Alert || alerted.Planned != 1 {
			w.Fatalf("AlertStuck: %+v, %v", alerted, err)
		}
		equal(w, "look-ups", w.record().LookUps, 1)
		if _, err := w.ledger().Passes.AlertStuck(w.ctx, claimed.Operation); !errors.Is(err, ledger.ErrConflict) {
			w.Errorf("AlertStuck of what was changed since its claim: %v", err)
		}
	}},
	{"where no rule lists it nothing is planned: the caller logs it [R4]", func(w *world) {
		w.paged()
		w.settings.Rules[2].JobKinds, w.settings.Rules[2].Alerts = []string{"other-*"}, []ledger.Alert{ledger.AlertStuck}
		due, now := w.stuck()
		counting := Count(w.store)
		p, err := w.over(counting).Passes.ClaimLookUp(w.ctx, due, now)
		if err != nil || !p.Alert || p.Planned != 0 {
			w.Errorf("%+v, %v", p, err)
		}
		equal(w, "reads", counting.Counts().Gets, 0)
		equal(w, "effects", len(w.record().Effects), 0)
		alerted, err := w.ledger().Passes.AlertAbout(w.ctx, "webhooks/w1", ledger.AlertDisabled, w.start, "")
		if err != nil || alerted.Planned != 0 {
			w.Errorf("%+v, %v", alerted, err)
		}
		w.published()
	}},
	{"a rule has its states' effect and its alerts [R4, S2]", func(w *world) {
		w.paged()
		w.settings.Rules[2].On = []operation.State{operation.Succeeded}
		due, now := w.stuck()
		if _, err := w.ledger().Passes.ClaimLookUp(w.ctx, due, now); err != nil {
			w.Fatal(err)
		}
		equal(w, "planned by the end", w.ingest(w.event("d1", operation.Succeeded, time.Hour)).Planned, 2)
		w.published("page@stuck-1", page, publish)
		if strings.Contains(w.effect(page).Payload, `"alert"`) {
			w.Errorf("an ordinary effect says %s", w.effect(page).Payload)
		}
	}},
	{"an alert of a former record is not repeated, the next one is planned [L3]", func(w *world) {
		w.paged()
		due, now := w.stuck()
		if _, err := w.ledger().Passes.ClaimLookUp(w.ctx, due, now); err != nil {
			w.Fatal(err)
		}
		w.finish(w.granted("page@stuck-1"))
		w.published("page@stuck-1")
		w.delete(ledger.OperationPath(w.name.Key)) // TTL deletion leaves what is under it
		due, now = w.stuck()
		p, err := w.ledger().Passes.ClaimLookUp(w.ctx, due, now)
		if err != nil || !p.Alert || p.Planned != 0 {
			w.Errorf("%+v, %v", p, err)
		}
		equal(w, "the record", w.record().Effects["page@stuck-1"], operation.EffectDone)
		w.store.Advance(w.settings.AlertEvery)
		equal(w, "the next", w.postpone().Planned, 1)
		w.published("page@stuck-2")
	}},
	{"publishing an alert fails: the sweep has it [R4, R5]", func(w *world) {
		w.paged()
		due, now := w.stuck()
		w.outbox.err = errFailed
		p, err := w.ledger().Passes.ClaimLookUp(w.ctx, due, now)
		if err != nil || p.Planned != 1 || p.PublishErr == nil {
			w.Errorf("%+v, %v", p, err)
		}
		w.outbox.err = nil
		equal(w, "swept", w.sweep(), 1)
		w.published("page@stuck-1")
	}},
}
