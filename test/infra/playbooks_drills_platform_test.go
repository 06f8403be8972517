package infra_test

import (
	"database/sql"
	"encoding/json"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
)

var drillsOfPlatform = []drill{
	{
		playbook: "not-started", about: "a deployment has a wrong setting", signal: "not-started",
		trouble: func(o *oncall, s *shell) {
			o.broken["opledger-webhook-00002-new"] = true
			o.broke("webhook", "OPLEDGER_TOLERANCE: \"soon\" is not a duration")
			s.given["FUNCTION"], s.given["REVISION"] = "webhook", "opledger-webhook-00001-old"
		},
		sees: []string{"is not a duration", "opledger-webhook-00001-old"}, fix: []string{"update-traffic"},
		after: genuine, over: []string{"ACTIVE"}, gone: []string{"FAILED"},
	},
	{
		playbook: "backlog", about: "the push may not call Effects",
		trouble: func(o *oncall, s *shell) {
			o.revoke("run opledger-effects", "roles/run.invoker", member("push"))
			s.given["OPERATION"] = o.done("batches/a", operation.Expired)
			o.deliverAll()
		},
		sees: []string{"403\tCloudPubSub-Google"}, fix: []string{"add-iam-policy-binding"},
		after: (*oncall).deliverAll, over: []string{"done"}, gone: []string{"403"},
	},
	{
		playbook: "dead-letter", about: "an operator's replay was lost",
		trouble: func(o *oncall, s *shell) {
			s.given["OPERATION"] = o.done("batches/a", operation.Expired)
			o.outbox.Drain()
			o.dead = []string{`{"operation":"batches/a","effect":"publish"}`}
		},
		sees: []string{`{"operation":"batches/a","effect":"publish"}`},
		fix:  []string{"opledger replay", "subscriptions seek"},
		after: func(o *oncall) {
			o.deliverAll()
			if story, err := o.ledger.Operations.Show(o.Context(), "batches/a"); err != nil ||
				story.Record.Effects["publish"] != operation.EffectDone {
				o.Errorf("the replay did not run: %+v %v", story, err)
			}
		},
	},
	{
		playbook: "webhook-unreachable", about: "it is not public any more",
		trouble: func(o *oncall, s *shell) {
			o.revoke("run opledger-webhook", "roles/run.invoker", "allUsers")
		},
		sees: []string{"403"}, fix: []string{"allUsers"}, over: []string{"405", "ok "}, gone: []string{"wrong"},
	},
}

// outboxed publishes a message again.
func (o *oncall) outboxed(m ledger.Message) {
	o.Helper()
	body, err := json.Marshal(m)
	if err != nil {
		o.Fatal(err)
	}
	o.waiting = append(o.waiting, string(body))
}

// exceeds is the platform's line about an instance that ran out of memory.
func (o *oncall) exceeds(function string) {
	o.entries = append(o.entries, entry{at: o.now(), fields: map[string]any{
		"severity": "ERROR", "textPayload": "Memory limit of 512 MiB exceeded",
		"resource": map[string]any{
			"type": "cloud_run_revision", "labels": map[string]any{"service_name": "opledger-" + function},
		},
	}})
}

// lower gives a document the number that this revision writes.
func (o *oncall) lower(path ledger.Path) {
	ledgertest.Renumber(o, o.store, path, operation.SchemaVersion)
}

// setField changes a field of a document, bypassing the store's checks.
func (o *oncall) setField(path ledger.Path, field, value string) {
	o.Helper()
	db, err := sql.Open("sqlite", o.file)
	if err != nil {
		o.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(o.Context(), `UPDATE documents SET body = json_set(body, ?, json(?)) WHERE path = ?`,
		field, value, string(path)); err != nil {
		o.Fatal(err)
	}
}
