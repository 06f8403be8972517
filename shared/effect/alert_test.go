package effect_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestAlertsHandler: an alert is one run of a rule, by the rule's handler, with a key of its own; one about something that is no
// operation runs without a record; and a rule that this revision does not have is unknown by whatever run [R4, K4].
func TestAlertsHandler(t *testing.T) {
	inWorld(t, func(w *world) {
		w.settings.Rules = []ledger.Rule{{Name: "page", Alerts: []ledger.Alert{ledger.AlertDisabled}}}
		const subject operation.Key = "webhooks/w1"
		alerted, err := w.over(w.store).AlertAbout(w.ctx, subject, ledger.AlertDisabled, time.Now(), "switched off")
		if err != nil || alerted.Planned != 1 {
			w.Fatalf("%+v, %v", alerted, err)
		}
		page, err := w.over(w.store).DueEffects(w.ctx, time.Now(), ledger.Cursor{}, 10)
		if err != nil {
			w.Fatal(err)
		}
		var m ledger.Message
		for _, due := range page.Items {
			if due.Effect.Operation == subject {
				m = ledger.Message{Operation: subject, Effect: due.Effect.Name}
			}
		}
		stranger := effect.NewRunner(w.over(w.store), map[string]effect.Handler{m.Effect: effect.HandlerFunc(succeeds)})
		if report, err := stranger.Run(w.ctx, m); err != nil || report.Outcome != effect.Unknown {
			w.Errorf("without a handler of the rule: %+v, %v", report, err)
		}
		var p performances
		runner := effect.NewRunner(w.over(w.store), map[string]effect.Handler{"page": p.that(succeeds)})
		for _, want := range []effect.Outcome{effect.Finished, effect.Skipped} {
			if report, err := runner.Run(w.ctx, m); err != nil || report.Outcome != want {
				w.Errorf("%+v, %v, want %s", report, err, want)
			}
		}
		task := p.tasks()[0]
		var payload ledger.Payload
		if err := json.Unmarshal(task.Payload, &payload); err != nil {
			w.Fatal(err)
		}
		if task.IdempotencyKey != "gemini:webhooks/w1#"+m.Effect || payload.Alert == nil || payload.Alert.Kind != "disabled" ||
			payload.Alert.Detail != "switched off" || payload.IdempotencyKey != task.IdempotencyKey {
			w.Errorf("task %+v, payload %s", task, task.Payload)
		}
	})
}
