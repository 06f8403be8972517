package infra_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	secrets "github.com/opledger/opledger/shared/secret"
	"github.com/opledger/opledger/shared/trust"
)

// run makes the scheduler call Reconcile. The caller holds mu.
func (o *oncall) run() {
	o.publishable()
	if !o.granted("run opledger-reconcile", "roles/run.invoker", member("scheduler")) {
		o.code = 7
		o.platform("reconcile", http.StatusForbidden, "Google-Cloud-Scheduler")
		resource := map[string]any{
			"type": "cloud_scheduler_job", "labels": map[string]any{"job_id": "opledger-reconcile"},
		}
		o.entries = append(o.entries, entry{at: o.now(), fields: map[string]any{
			"severity": "ERROR", "resource": resource, "jsonPayload": map[string]any{
				"status": "PERMISSION_DENIED", "debugInfo": "Original HTTP response code number = 403",
			},
		}})
		return
	}
	o.code = 0
	var err error
	versions := o.secrets.Versions(storedKey)
	o.client, err = lookup.NewClient(lookup.Options{
		APIKey: versions[0].Data, BaseURL: o.gemini.URL, HTTP: o.gemini.Client(), Now: o.clock.Now,
	})
	if err != nil {
		o.Fatal(err)
	}
	o.at.Reenable = o.settings["reconcile"]["OPLEDGER_WEBHOOK_REENABLE"] == "true"
	o.knows = o.pauseOf("reconcile")
	o.pass(o.at)
}

// tick lets an interval pass: the scheduler makes its call, unless its job is paused.
func (o *oncall) tick() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.paused {
		o.run()
	}
}

// publishable makes the topic take messages, or not, as the functions may publish. The caller holds mu.
func (o *oncall) publishable() {
	if o.granted("topic opledger-effects", "roles/pubsub.publisher", member("webhook")) {
		o.outbox.Fail(nil)
	} else {
		o.outbox.Fail(errors.New("rpc error: code = PermissionDenied desc = User not authorized to perform this action"))
	}
}

// push pushes every message that was published to Effects, as the subscription does.
func (o *oncall) push() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.follows {
		o.clock.Advance(max(0, time.Until(o.clock.Now())*-1))
	}
	var bodies []string
	for _, m := range o.outbox.Drain() {
		data, err := json.Marshal(m)
		if err != nil {
			o.Fatal(err)
		}
		bodies = append(bodies, string(data))
	}
	bodies = append(bodies, o.topic.drain()...)
	o.waiting = append(o.waiting, bodies...)
	if len(bodies) > 0 {
		o.redeliver()
	}
}

// redeliver pushes every message that waits. The caller holds mu.
func (o *oncall) redeliver() {
	messages := o.waiting
	o.waiting = nil
	for _, body := range messages {
		if !o.granted("run opledger-effects", "roles/run.invoker", member("push")) {
			o.platform("effects", http.StatusForbidden, "CloudPubSub-Google")
			o.waiting = append(o.waiting, body)
			continue
		}
		answer := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(o.Context(), http.MethodPost, "/", strings.NewReader(push(body)))
		o.runs(o.pauseOf("effects") == ledger.EffectsPaused, nil).ServeHTTP(answer, r)
		if answer.Code/100 != 2 {
			o.platform("effects", answer.Code, "CloudPubSub-Google")
			o.waiting = append(o.waiting, body)
		}
	}
}

// deliverAll pushes what waits once more, as the subscription does after its back-off.
func (o *oncall) deliverAll() {
	o.push()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.redeliver()
}

// byTest is a header of the deliveries that a test asks for.
const byTest = "Opledger-Test"

// deliver has Gemini make a delivery.
func (o *oncall) deliver(d geminisim.Delivery) {
	o.Helper()
	o.mu.Lock()
	o.publishable()
	o.mu.Unlock()
	d.Header = http.Header{byTest: {"yes"}}
	if _, _, err := o.sim.Deliver(o.Context(), d); err != nil {
		o.Fatal(err)
	}
}

// webhookThatReads is the function with the secret in Secret Manager.
func (o *oncall) webhookThatReads() http.Handler {
	name, err := secrets.ParseName(storedSecret)
	if err != nil {
		o.Fatal(err)
	}
	return o.webhook(func(options *trust.Options) {
		options.Static = trust.NewSecrets(func(ctx context.Context) ([]trust.Secret, error) {
			if !o.granted("secret opledger-webhook-secret", "roles/secretmanager.secretAccessor", member("webhook")) {
				return nil, errors.New("rpc error: code = PermissionDenied desc = secretmanager.versions.access denied")
			}
			versions, err := o.reads.Enabled(ctx, name)
			if errors.Is(err, secrets.ErrNone) {
				err = nil
			}
			var all []trust.Secret
			for _, v := range versions {
				all = append(all, trust.Secret{Name: v.Name, Value: string(v.Data)})
			}
			return all, err
		}, trust.SecretsOptions{})
	})
}
