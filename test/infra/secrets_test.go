package infra_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	secrets "github.com/opledger/opledger/shared/secret"
	"github.com/opledger/opledger/shared/secret/secretsim"
	"github.com/opledger/opledger/test/harness"
)

// The secrets of a deployment, and one in the format of Standard Webhooks.
const (
	webhookSecret = "projects/a-project/secrets/opledger-webhook-secret"
	geminiKey     = "projects/a-project/secrets/opledger-gemini-api-key"
	effectSecret  = "projects/a-project/secrets/opledger-effect-secret"
	ownSecret     = "projects/b-project/secrets/crm-token" // named by an effect
	signing       = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

// secretsOf starts a Secret Manager whose caller has the roles of one function in roles.json, and
// no other. The key's last version is disabled where rotated is set.
func secretsOf(t *testing.T, function string, rotated bool) *secretsim.Sim {
	t.Helper()
	sim, err := secretsim.Start(secretsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sim.Close)
	held := map[string][]string{}
	for _, r := range readTable[[]role](t, "roles.json") {
		if r.Who == function && r.On == "secret" {
			held["opledger-"+r.Name] = append(held["opledger-"+r.Name], r.Role)
		}
		if r.Who == function && r.On == "own-secret" {
			held["crm-token"] = append(held["crm-token"], r.Role)
		}
	}
	if err := sim.Grant(held); err != nil {
		t.Fatal(err)
	}
	sim.Put(webhookSecret, signing, time.Now())
	sim.Put(effectSecret, signing, time.Now())
	sim.Put(ownSecret, "token", time.Now())
	sim.Put(geminiKey, "key", time.Now())
	if rotated {
		sim.SetDisabled(sim.Put(geminiKey, "another", time.Now()))
	}
	return sim
}

// TestSecretRoles: what each function asks of Secret Manager is granted by the roles in roles.json,
// also in the middle of a rotation, and nothing asks for more.
func TestSecretRoles(t *testing.T) {
	t.Parallel()
	for _, rotated := range []bool{false, true} {
		key := func(_ string, err error) {
			t.Helper()
			if rotated && !errors.Is(err, secrets.ErrNotEnabled) || !rotated && err != nil {
				t.Errorf("rotated: %v: reading the key: %v", rotated, err)
			}
		}
		settings := func(sim *secretsim.Sim) config.Gemini {
			return config.Gemini{APIKeySecret: geminiKey, SecretEmulator: sim.Addr()}
		}

		webhook := settings(secretsOf(t, "webhook", rotated))
		var signed config.Secrets
		if err := signed.UnmarshalText([]byte(webhookSecret)); err != nil {
			t.Fatal(err)
		}
		log := &harness.Log{}
		_, err := cloud.Gate(t.Context(), config.Webhook{
			SigningSecrets: config.SigningSecrets{Secrets: signed}, Gemini: webhook, Tolerance: time.Minute,
		}, time.Now(), logging.New(log, "p"))
		if lines := log.Drain(t); err != nil || len(lines) > 0 {
			t.Errorf("webhook: %v, logged %v", err, lines)
		}
		key(cloud.GeminiKey(t.Context(), webhook))

		reconcile := settings(secretsOf(t, "reconcile", false))
		passes, err := cloud.Reconciler(t.Context(), cloud.Reconcile{
			Gemini: reconcile, Signing: config.SigningSecrets{Secrets: signed},
			Endpoint: config.Endpoint{Kind: config.WebhookStatic, URL: "https://webhook.example"},
		}, logging.New(log, "p"))
		if err != nil {
			t.Fatal(err)
		}
		if created, err := passes.Endpoint.Created(t.Context()); !created || err != nil {
			t.Errorf("reconcile: created %v, %v", created, err)
		}
		if known, err := passes.Endpoint.Secrets(t.Context()); err != nil || !slices.Equal(known, []string{signing}) {
			t.Errorf("reconcile: %d secrets, %v", len(known), err)
		}
		key(cloud.GeminiKey(t.Context(), settings(secretsOf(t, "reconcile", rotated))))

		effects := settings(secretsOf(t, "effects", rotated))
		key("", errOf(cloud.Results(t.Context(), config.Results{Wanted: true, Gemini: effects}, nil)))
		var sign config.EffectSecret
		if err := sign.UnmarshalText([]byte(effectSecret)); err != nil {
			t.Fatal(err)
		}
		signer, err := cloud.EffectSigner(t.Context(), config.Handlers{
			Secret: sign, SecretEmulator: effects.SecretEmulator,
		})
		if signer == nil || err != nil {
			t.Errorf("effects: %v, %v", signer, err)
		}
	}
}

// TestOwnSecrets: the secrets that effects name are read by Effects, and by no other function.
func TestOwnSecrets(t *testing.T) {
	t.Parallel()
	var received string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		received = r.Header.Get("Authorization")
	}))
	defer receiver.Close()
	specs, err := kinds.ParseSpecs([]byte(`[{name: crm, on: [SUCCEEDED], do: http, url: "`+receiver.URL+
		`", tokenSecret: `+ownSecret+`}]`), operation.Transitions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, function := range functions {
		handlers, err := cloud.Handlers(t.Context(), specs, config.Handlers{
			AllowPrivate: true, SecretEmulator: secretsOf(t, function, false).Addr(),
		}, kinds.Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		_, err = handlers["crm"].Perform(t.Context(), effect.Task{Lease: ledger.Lease{Payload: []byte("{}")}})
		switch {
		case function == "effects" && (err != nil || received != "Bearer token"):
			t.Errorf("effects: %v, sent %q", err, received)
		case function != "effects" && (!errors.Is(err, secrets.ErrDenied) ||
			!strings.Contains(err.Error(), "secretAccessor")):
			t.Errorf("%s: %v", function, err)
		}
	}
}

func errOf[T any](_ T, err error) error { return err }

// TestSecretRolesRefuse: without one of its roles a function is refused, so that the test above
// proves something.
func TestSecretRolesRefuse(t *testing.T) {
	t.Parallel()
	sim := secretsOf(t, "register", false)
	for _, full := range []string{webhookSecret, geminiKey, effectSecret} {
		name, err := secrets.ParseName(full)
		if err != nil {
			t.Fatal(err)
		}
		client := secrets.New(secrets.Options{Emulator: sim.Addr()})
		_, readErr := client.Latest(t.Context(), name)
		_, listErr := client.Stored(t.Context(), name)
		if err := client.Close(); err != nil || !errors.Is(readErr, secrets.ErrDenied) ||
			!errors.Is(listErr, secrets.ErrDenied) {
			t.Errorf("%s: %v, %v, %v", full, readErr, listErr, err)
		}
	}
}
