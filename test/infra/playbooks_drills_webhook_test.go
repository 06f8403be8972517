package infra_test

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	secrets "github.com/opledger/opledger/shared/secret"
)

// genuine has Gemini deliver the end of a batch that is registered.
func genuine(o *oncall) {
	o.Helper()
	name := o.registered(o.batch("genuine", geminisim.StateSucceeded))
	o.deliver(geminisim.Delivery{Type: "batch.succeeded", Name: name.Resource})
}

// hook returns Gemini's webhook.
func (o *oncall) hook() webhooks.Webhook {
	o.Helper()
	found, err := o.at.Webhooks.Find(o.Context(), o.at.URL)
	if err != nil || len(found) != 1 {
		o.Fatalf("%+v %v", found, err)
	}
	return found[0]
}

// storesAnother stores a secret that is not Gemini's, and leaves no other version enabled.
func (o *oncall) storesAnother() {
	for _, v := range o.secrets.Versions(storedSecret) {
		o.secrets.SetDisabled(v.Name)
	}
	o.secrets.Put(storedSecret, other, o.clock.Now())
}

// subscribe leaves Gemini's webhook with one event.
func (o *oncall) subscribe(id, event string) {
	o.Helper()
	r, err := http.NewRequestWithContext(o.Context(), http.MethodPatch,
		o.gemini.URL+"/v1beta/webhooks/"+id+"?update_mask=subscribed_events",
		strings.NewReader(`{"subscribed_events":["`+event+`"]}`))
	if err != nil {
		o.Fatal(err)
	}
	r.Header = http.Header{"X-Goog-Api-Key": {"key"}, "Content-Type": {"application/json"}}
	answer, err := o.gemini.Client().Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		o.Fatalf("%+v %v", answer, err)
	}
	_ = answer.Body.Close()
}

var drillsOfWebhook = []drill{
	{
		playbook: "webhook-disabled", about: "Gemini disabled it", signal: "webhook-disabled",
		trouble: func(o *oncall, s *shell) {
			o.deliver(geminisim.Delivery{ID: "m1", Body: []byte("{}"), Secrets: []string{other}})
			if err := o.sim.SetWebhookState(o.hook().ID, webhooks.DisabledByFailures); err != nil {
				o.Fatal(err)
			}
			o.tick()
			s.may = []string{"opledger webhook check"}
		},
		sees: []string{"signature", "wrong"}, fix: []string{"WEBHOOK_REENABLE"},
		after: (*oncall).tick, over: []string{"ok "}, gone: []string{"wrong"},
	},
	{
		playbook: "webhook-disabled", about: "it was deleted", signal: "webhook-disabled",
		trouble: func(o *oncall, s *shell) {
			if err := o.at.Webhooks.Delete(o.Context(), o.hook().ID); err != nil {
				o.Fatal(err)
			}
			o.tick()
			s.may = []string{"opledger webhook check"}
		},
		sees: []string{"wrong"}, fix: []string{"opledger webhook create"},
		after: (*oncall).tick, over: []string{"ok "}, gone: []string{"wrong"},
	},
	{
		playbook: "key-denied", about: "the key was revoked", signal: "key-denied",
		trouble: func(o *oncall, s *shell) {
			s.given["OPERATION"] = o.running("a")
			o.revoked = "key"
			o.tick()
			s.stdin = "another-key"
			s.may = []string{"opledger reconcile"}
		},
		sees: []string{"API key not valid"}, fix: []string{"versions add", "key-changed"},
		after: (*oncall).tick, over: []string{"RUNNING"}, gone: []string{"not valid"},
	},
	{
		playbook: "quarantined", about: "a revision reads it after an upgrade", signal: "quarantined",
		trouble: func(o *oncall, s *shell) {
			o.registered(o.named("batches/a"))
			o.deliver(geminisim.Delivery{ID: "m1", Body: []byte(`{"type":`)})
			s.given["DELIVERY"] = "m1"
		},
		sees: []string{"1 malformed", `{"type":`},
		repaired: func(o *oncall, _ *shell) { // as if this were a later revision, which can read what was sent
			body := []byte(o.event("batch.succeeded", "batches/a"))
			kept := ledger.Path("quarantine/m1")
			snapshot, err := o.store.Get(o.Context(), kept)
			if err != nil {
				o.Fatal(err)
			}
			if _, err := o.store.Commit(o.Context(), ledger.Write{
				Path: kept, Token: snapshot.Documents[0].Token,
			}); err != nil {
				o.Fatal(err)
			}
			suspect := ledger.Suspect{ID: "m1", Body: body, Reason: "malformed"}
			if _, err := o.ledger.Quarantine.Add(o.Context(), suspect); err != nil {
				o.Fatal(err)
			}
		},
		fix: []string{"quarantine retry"}, after: genuine, gone: []string{"batches/a"},
	},
	{
		playbook: "quarantined", about: "it needs nothing more", signal: "quarantined",
		trouble: func(o *oncall, s *shell) {
			o.deliver(geminisim.Delivery{ID: "m1", Body: []byte(`{"type":`)})
			s.given["DELIVERY"] = "m1"
		},
		sees: []string{"1 malformed", `{"type":`}, fix: []string{"quarantine resolve"}, gone: []string{"batches/"},
	},
	{
		playbook: "refused", about: "the stored secret is another one", signal: "refused",
		trouble: func(o *oncall, s *shell) {
			o.storesAnother()
			o.countsRefusals()
			for range 3 {
				genuine(o)
			}
			o.tick()
			s.may = []string{"opledger webhook check", "opledger status"}
		},
		sees: []string{"signature", "wrong"}, fix: []string{"webhook rotate"},
		after: func(o *oncall) {
			genuine(o)
			if refusals, err := o.ledger.Passes.Refusals(o.Context()); err != nil || refusals.Count > 0 {
				o.Errorf("%+v %v", refusals, err)
			}
		},
		over: []string{"ok ", "applied"}, gone: []string{"wrong"},
	},
	{
		playbook: "wrong-secret", about: "the stored secret is another one", signal: "wrong-secret",
		trouble: func(o *oncall, s *shell) {
			o.storesAnother()
			o.comparesSecrets()
			o.tick() // before any delivery
			o.tick() // from the second pass on it is an alert
			s.may = []string{"opledger webhook check"}
		},
		sees: []string{"1 Gemini signs the webhook's deliveries with whsec_...", "wrong"}, fix: []string{"webhook rotate"},
		after: (*oncall).tick, over: []string{"ok "}, gone: []string{"wrong", "Gemini signs"},
	},
	noSecretAs("a version was disabled", nil),
	noSecretAs("all versions were destroyed", []string{"webhook rotate"}),
	{
		playbook: "unverifiable", about: "its access was denied", signal: "unverifiable",
		trouble: func(o *oncall, _ *shell) {
			o.revoke("secret opledger-webhook-secret", "roles/secretmanager.secretAccessor", member("webhook"))
			genuine(o)
		},
		sees: []string{"unavailable", "PermissionDenied"}, fix: []string{"add-iam-policy-binding"},
		after: genuine, over: []string{"applied"}, gone: []string{"denied"},
	},
	{
		playbook: "misread", about: "a recorded delivery is replayed", signal: "misread",
		trouble: func(o *oncall, _ *shell) {
			o.deliver(geminisim.Delivery{ID: "m.1", Body: []byte("{}")})
		},
		sees: []string{"1 ambiguous-id"}, after: genuine,
	},
	{
		playbook: "stale", about: "Gemini's retries after an outage", signal: "stale",
		trouble: func(o *oncall, s *shell) {
			name := o.registered(o.batch("late", geminisim.StateSucceeded))
			s.given["OPERATION"] = string(name.Key)
			o.deliver(geminisim.Delivery{
				ID: "m1", Type: "batch.succeeded", Name: name.Resource, Timestamp: o.clock.Now().Add(-2 * tolerance),
			})
		},
		sees: []string{"1 m1", "SUCCEEDED"}, after: genuine, gone: []string{"batches/"},
	},
	{
		playbook: "unconfirmed", about: "Gemini was down", signal: "unconfirmed",
		trouble: func(o *oncall, s *shell) {
			name := o.registered(o.batch("a", geminisim.StateSucceeded))
			s.given["OPERATION"] = string(name.Key)
			o.sim.AnswerNext(geminisim.OpGet, name.Resource, geminisim.ErrorAnswer(http.StatusServiceUnavailable, "away"))
			o.deliver(geminisim.Delivery{ID: "m1", Type: "batch.succeeded", Name: name.Resource, Dynamic: true})
		},
		sees: []string{"unavailable", "SUCCEEDED"},
		after: func(o *oncall) {
			o.clock.Advance(time.Hour)
			for _, batch := range o.sim.Batches() {
				o.deliver(geminisim.Delivery{ID: "m1", Type: "batch.succeeded", Name: batch.Name, Dynamic: true})
			}
		},
	},
	{
		playbook: "ledger-errors", about: "the ledger is away", signal: "ledger-errors",
		trouble: func(o *oncall, _ *shell) {
			o.storeDown()
			o.deliver(geminisim.Delivery{ID: "m1", Body: []byte(o.event("batch.succeeded", "batches/a"))})
		},
		sees:     []string{"opledger-webhook", "OPTIMISTIC"},
		repaired: func(o *oncall, _ *shell) { o.openLedger() }, after: genuine, gone: []string{"closed"},
		over: []string{"batches/"},
	},
	{
		playbook: "newer", about: "the functions were rolled back", signal: "newer",
		trouble: func(o *oncall, s *shell) {
			name := o.registered(o.batch("a", geminisim.StateSucceeded))
			o.raise(ledger.OperationPath(name.Key))
			o.tick()
			s.given["OPERATION"], s.given["REVISION"] = string(name.Key), "opledger-reconcile-00002-new"
			o.mu.Lock()
			defer o.mu.Unlock()
			o.active["reconcile"] = "opledger-reconcile-00001-old"
			s.may = []string{"opledger show"}
		},
		sees: []string{"left alone"}, fix: []string{"revisions list", "update-traffic"},
		after: func(o *oncall) { // the revision with the traffic reads the number
			o.mu.Lock()
			defer o.mu.Unlock()
			if o.active["webhook"] != "opledger-reconcile-00002-new" {
				o.Errorf("the traffic goes to %v", o.active)
			}
			for _, batch := range o.sim.Batches() {
				o.lower(ledger.OperationPath(operation.Key(batch.Name)))
			}
		},
	},
	{
		playbook: "unpublished", about: "the functions may not publish", signal: "unpublished",
		trouble: func(o *oncall, s *shell) {
			o.revoke("topic opledger-effects", "roles/pubsub.publisher", member("webhook"))
			name := o.registered(o.batch("a", geminisim.StateFailed))
			s.given["OPERATION"] = string(name.Key)
			o.deliver(geminisim.Delivery{ID: "m1", Type: "batch.failed", Name: name.Resource})
		},
		sees: []string{"not authorized"}, fix: []string{"topics add-iam-policy-binding"},
		after: func(o *oncall) { genuine(o); o.tick() }, over: []string{"Z\t"}, gone: []string{"not authorized"},
	},
	{
		playbook: "undelivered", about: "the webhook does not hear of batches", signal: "undelivered",
		trouble: func(o *oncall, s *shell) {
			s.given["OPERATION"] = string(o.registered(o.batch("a", geminisim.StateSucceeded)).Key)
			o.tick()
			s.given["WEBHOOK"] = o.hook().ID
			o.subscribe(o.hook().ID, "video.generated")
			s.may = []string{"opledger webhook check"}
		},
		sees: []string{"1 SUCCEEDED", "wrong"}, fix: []string{"webhook delete"},
		after: genuine, over: []string{"SUCCEEDED", "ok "}, gone: []string{"wrong"},
	},
}

// comparesSecrets lets passes read the webhook's secret, as the function does.
func (o *oncall) comparesSecrets() {
	name, err := secrets.ParseName(storedSecret)
	if err != nil {
		o.Fatal(err)
	}
	o.at.Secrets = func(ctx context.Context) (known []string, err error) {
		versions, err := o.reads.Enabled(ctx, name)
		for _, v := range versions {
			known = append(known, string(v.Data))
		}
		return known, err
	}
}

// noSecretAs is the drill of a webhook without an enabled secret.
func noSecretAs(about string, fix []string) drill {
	return drill{
		playbook: "no-secret", about: about, signal: "no-secret",
		trouble: func(o *oncall, s *shell) {
			version := o.secrets.Versions(storedSecret)[0]
			if fix != nil {
				o.secrets.Put(storedSecret, other, o.clock.Now()) // a stranger's, which does not fit
				o.secrets.SetDestroyed(version.Name)
				version = o.secrets.Versions(storedSecret)[0]
			}
			o.secrets.SetDisabled(version.Name)
			genuine(o)
			s.given["VERSION"] = version.Name[len(version.Name)-1:]
			s.may = []string{"opledger webhook check"}
		},
		sees: []string{"no-secret", "DISABLED"}, fix: fix,
		after: genuine, over: []string{"ok ", "applied"}, gone: []string{"wrong"},
	}
}
