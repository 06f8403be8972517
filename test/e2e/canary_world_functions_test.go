package e2e

import (
	"bytes"
	"context"
	"encoding/pem"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/functions/reconcile"
	"github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/functions/webhook"
	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/kinds"
	effectlog "github.com/opledger/opledger/shared/effect/log"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	sharedreconcile "github.com/opledger/opledger/shared/reconcile"
	secretmanager "github.com/opledger/opledger/shared/secret"
	"github.com/opledger/opledger/shared/trust"
)

func (d *deployment) webhookFunction() http.Handler {
	d.Helper()
	manager := secretmanager.New(secretmanager.Options{Emulator: d.secrets.Addr()})
	d.Cleanup(func() { _ = manager.Close() })
	name, err := secretmanager.ParseName(d.secretName())
	d.must(err)
	tokens, err := trust.NewTokens(trust.TokensOptions{
		Audiences: []string{d.webhook.URL}, KeysURL: d.api.URL + geminisim.JWKSPath,
		Transport: d.api.Client().Transport, Log: slog.New(slog.DiscardHandler),
	})
	d.must(err)
	client, err := lookup.NewClient(lookup.Options{APIKey: "key", BaseURL: d.api.URL})
	d.must(err)
	gate, err := trust.New(trust.Options{
		Dynamic:   tokens,
		Tolerance: 5 * time.Minute,
		Static: trust.NewSecrets(func(ctx context.Context) ([]trust.Secret, error) {
			versions, err := manager.Enabled(ctx, name)
			var all []trust.Secret
			for _, v := range versions {
				all = append(all, trust.Secret{Name: v.Name, Value: string(v.Data)})
			}
			return all, err
		}, trust.SecretsOptions{}),
	})
	d.must(err)
	return webhook.New(webhook.Options{
		Ledger: d.ledger, Gate: gate, Confirm: trust.Dynamic, Now: time.Now, Log: d.printer("opledger-webhook"),
		Timeout: 50 * time.Second, // the canary waits a minute: many deployments share the emulator of a loaded machine
		Confirmer: confirm.New(confirm.Options{
			Ledger: d.ledger, Gemini: func(context.Context) (*lookup.Client, error) { return client, nil }, Now: time.Now,
			// A redelivery is looked up again. One within the gap is left to the next pass, and there is none.
			Gap: time.Second,
		}),
	})
}

func (d *deployment) effectsFunction() http.Handler {
	d.Helper()
	handlers, err := kinds.Handlers([]spec.Spec{{Name: "note", Do: &effectlog.Do{}}},
		kinds.Options{Log: slog.New(slog.DiscardHandler)})
	d.must(err)
	return effects.New(effects.Options{
		Runner: effect.NewRunner(d.ledger, handlers), Now: time.Now, Log: d.printer("opledger-effects"),
	})
}

func (d *deployment) reconcileFunction() http.Handler {
	d.Helper()
	client, err := lookup.NewClient(lookup.Options{APIKey: "key", BaseURL: d.api.URL})
	d.must(err)
	log := d.printer("opledger-reconcile")
	return reconcile.New(reconcile.Options{
		Reconciler: sharedreconcile.New(sharedreconcile.Options{Ledger: d.ledger, Gemini: client, Log: log}),
		Now:        time.Now, Log: log,
	})
}

func (d *deployment) registerFunction() http.Handler {
	return register.New(register.Options{Ledger: d.ledger, Now: time.Now, Log: d.printer("opledger-register")})
}

// subscribe makes the push subscription, as it is deployed.
func (d *deployment) subscribe(addr string) {
	d.Helper()
	_, err := d.admin.SubscriptionAdminClient.CreateSubscription(d.Context(), &pubsubpb.Subscription{
		Name: d.full("subscriptions"), Topic: d.full("topics"), AckDeadlineSeconds: 60,
		PushConfig: pushTo(d.push.Load().Endpoint, d.push.Load().Audience),
	})
	d.must(err)
	d.Cleanup(func() { // the emulator would push to its closed endpoint for ever
		ctx := context.WithoutCancel(d.Context())
		admin, err := pubsub.NewClient(ctx, d.project, dial.Options(addr)...)
		if err == nil {
			err = admin.SubscriptionAdminClient.DeleteSubscription(ctx,
				&pubsubpb.DeleteSubscriptionRequest{Subscription: d.full("subscriptions")})
			_ = admin.Close()
		}
		if err != nil {
			d.Error(err)
		}
	})
}

// repush changes where the subscription pushes to.
func (d *deployment) repush(config *pubsubpb.PushConfig) {
	d.Helper()
	d.must(d.admin.SubscriptionAdminClient.ModifyPushConfig(d.Context(), &pubsubpb.ModifyPushConfigRequest{
		Subscription: d.full("subscriptions"), PushConfig: config,
	}))
}

func pushTo(endpoint, audience string) *pubsubpb.PushConfig {
	return &pubsubpb.PushConfig{
		PushEndpoint: endpoint,
		AuthenticationMethod: &pubsubpb.PushConfig_OidcToken_{OidcToken: &pubsubpb.PushConfig_OidcToken{
			ServiceAccountEmail: pushAccount, Audience: audience,
		}},
	}
}

// certificate writes that of the webhook's address to a file.
func (d *deployment) certificate() string {
	d.Helper()
	file := filepath.Join(d.TempDir(), "certificate.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: d.webhook.Certificate().Raw}
	d.must(os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	return file
}

// A run is one run of the canary.
type canaryRun struct {
	code     int
	out, err string
}

// canary runs `opledger canary`.
func (d *deployment) canary(args ...string) canaryRun {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), 10*time.Minute) // it ends before, and names what did not come
	defer cancel()
	command := exec.CommandContext(ctx, binary(d.T), append([]string{"canary"}, args...)...)
	command.Env = slices.Clone(d.variables)
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	err := command.Run()
	if command.ProcessState == nil {
		d.Fatal(err)
	}
	return canaryRun{command.ProcessState.ExitCode(), out.String(), problems.String()}
}

// says checks the exit code, and that stdout contains each of these.
func (r canaryRun) says(t *testing.T, code int, words ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d", r.code, code)
	}
	for _, one := range words {
		if !strings.Contains(r.out, one) {
			t.Errorf("stdout does not say %q", one)
		}
	}
	if t.Failed() {
		t.Logf("%s\n%s", r.out, r.err)
	}
}

// leaves checks that the ledger is empty.
func (d *deployment) leavesNothing() {
	d.Helper()
	page, err := d.ledger.Operations.List(d.Context(), ledger.Filter{Limit: 10})
	if err != nil || len(page.Items) > 0 {
		d.Errorf("the ledger has %+v, %v", page.Items, err)
	}
}
